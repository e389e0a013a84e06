import { ConfigurationError } from '../errors.ts';
import { isUsableId } from '../events/parse.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import type { ExportedEvent } from '../inbox/operator/transfer.ts';
import { UNKNOWN_HASH } from '../inbox/rules/accept.ts';
import type { EventState } from '../inbox/event.ts';
import { assertOptions, textUpTo, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

/** The result of {@link importHandled}. */
export interface ImportHandledReport {
  /** How many ids this import recorded as processed. */
  readonly imported: number;
  /** How many ids belong to events that were already processed. */
  readonly known: number;
  /** Events that are in the inbox, but not processed. Handlers still run for the pending ones. */
  readonly notProcessed: readonly { readonly id: string; readonly state: EventState }[];
  /** The `seq` of the audit line; `null` for a dry run. */
  readonly audit: number | null;
}

/** The options of {@link importHandled}. */
export interface ImportHandledOptions {
  /** The receiver's option `endpoint`; `default` unless set. */
  readonly endpoint?: string;
  /** `true` only counts the ids. Default: `false`. */
  readonly dryRun?: boolean;
  /** Where the ids came from, such as a file name. The audit shows this text. */
  readonly from?: string;
  readonly onProgress?: (counts: Pick<ImportHandledReport, 'imported' | 'known'>) => void;
  /** Stops after the current batch. The report then contains the counts so far. */
  readonly signal?: AbortSignal;
}

const OPTIONS: RulesFor<ImportHandledOptions> = {
  endpoint: textUpTo(1_000),
  dryRun: 'boolean',
  from: true,
  onProgress: 'function',
  signal: true,
};

const BATCH_IDS = 100;

/**
 * Records the ids of events that other code has handled. A later delivery with one of these ids is a duplicate, and no
 * handler runs. Import the ids before you switch to hookbox, and once more afterwards. You can stop an import and
 * repeat it, even while deliveries arrive.
 *
 * An event that is already in the inbox keeps its state.
 *
 * From an id alone, hookbox knows no type, time or body. Therefore, `ctx.superseded` ignores events imported in this
 * way, and a redelivery with a different body does not count as a conflict.
 *
 * @param ids - the ids that the service gave the events
 * @throws ConfigurationError for an id that no event can have; the ids before this one may already be imported
 * @throws InboxUnavailableError if the inbox cannot store events; repeat the import
 * @example
 * ```ts
 * import { importHandled } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const report = await importHandled(inbox, ['evt_1', 'evt_2'], { actor: 'ada', reason: 'the move to hookbox' });
 * console.log(`${report.imported} ids`);
 * ```
 */
export async function importHandled(
  inbox: AnyInbox,
  ids: AsyncIterable<string> | Iterable<string>,
  by: By,
  options: ImportHandledOptions = {},
): Promise<ImportHandledReport> {
  assertOptions('importHandled', options, OPTIONS);
  const { endpoint = 'default', dryRun = false, from, onProgress, signal } = options;
  const operations = operationsOf(inbox);
  const counts = { imported: 0, known: 0 };
  const notProcessed: { id: string; state: EventState }[] = [];
  const about = { handled: true, endpoint, ...(from !== undefined && { from }) };
  const audit = dryRun ? null : await operations.note('import', by, about, { ...counts, different: 0 });

  async function importBatch(batch: readonly string[]): Promise<void> {
    const now = by.now ?? Date.now();
    const records = batch.map((id) => {
      return { event: handledEvent({ endpoint, id }, now), raisesMark: false, trusted: false };
    });
    const taken = await operations.importSome(records, audit === null ? { dryRun } : { audit });
    counts.imported += taken.imported;
    const known = taken.known + taken.different;
    const stored = known === 0 ? [] : await Promise.all(batch.map((id) => inbox.get({ endpoint, id })));
    const open = stored.filter((event) => event !== null).filter(({ state }) => state !== 'processed');
    notProcessed.push(...open.map(({ id, state }) => ({ id, state })));
    counts.known += known - open.length;
    onProgress?.({ ...counts });
  }

  const batch = new Set<string>();
  let number = 0;
  for await (const id of ids) {
    number += 1;
    if (!isUsableId(id)) {
      const message = `importHandled: id ${number} is not a well-formed string of 1 to 255 characters.`;
      throw new ConfigurationError('INVALID_OPTION', message);
    }
    batch.add(id);
    if (batch.size < BATCH_IDS) continue;
    await importBatch([...batch]);
    batch.clear();
    if (signal?.aborted === true) break;
  }
  if (batch.size > 0) await importBatch([...batch]);
  return { ...counts, notProcessed, audit };
}

function handledEvent(key: { readonly endpoint: string; readonly id: string }, now: number): ExportedEvent {
  return {
    ...key,
    type: null,
    created: null,
    entity: null,
    verified: false,
    state: 'processed',
    deadReason: null,
    receivedMs: now,
    settledMs: now,
    dueMs: now,
    begun: 0,
    failures: 0,
    crashes: 0,
    trigger: 'auto',
    fingerprint: null,
    erasedMs: null,
    body: null,
    sha256: UNKNOWN_HASH,
    attempts: [],
    redeliveries: null,
    conflict: null,
  };
}
