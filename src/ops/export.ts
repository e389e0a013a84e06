import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import { FIRST_LINE, lastLine, pauseLine } from '../inbox/operator/transfer.ts';
import { isWhole } from '../inbox/operator/export.ts';
import type { EventFilter } from '../inbox/operator/search.ts';
import { performance } from '../host/real-timers.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';

/** The options of {@link exportEvents}. */
export interface ExportOptions {
  /** Called with the number of events so far. */
  readonly onProgress?: (events: number) => void;
  /** Ends the export without its last line, so the export is recognisably incomplete. */
  readonly signal?: AbortSignal;
}

export const EXPORT_OPTIONS: KnownOptions<ExportOptions> = { onProgress: 'function', signal: true };

/** The audit's line of an export is brought up to date this often. */
const RECOUNT_MS = 1_000;

/**
 * Exports events as lines of JSON, oldest first. Bodies and conflicting bodies are exported byte for byte, in base64; a
 * tombstone is exported with the hash of its former body. Attempts, errors and redeliveries are included. Without a
 * filter, the export contains all events, the high-water mark of each entity, and the paused types.
 *
 * The last line contains the number of events, so that `importEvents` can detect a truncated file. Events that are
 * stored during the export are not included. The export keeps only a few events in memory at a time; with a filter, it
 * also keeps the `seq` of each matching event.
 *
 * An export contains personal data. Protect an export as you protect the inbox.
 *
 * @returns lines without line endings
 * @throws ConfigurationError `INVALID_OPTION` for an invalid filter
 * @example
 * ```ts
 * import { createWriteStream } from 'node:fs';
 * import { pipeline } from 'node:stream/promises';
 * import { exportEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const lines = exportEvents(inbox, { actor: 'ada' }, { states: ['dead'] });
 * const written = async function* () {
 *   for await (const line of lines) yield `${line}\n`;
 * };
 * await pipeline(written, createWriteStream('dead.ndjson'));
 * await inbox.close();
 * ```
 */
export async function* exportEvents(
  inbox: AnyInbox,
  by: By,
  filter: EventFilter = {},
  options: ExportOptions = {},
): AsyncGenerator<string, void> {
  assertOptions('exportEvents', options, EXPORT_OPTIONS);
  yield* exportOfEach(inbox, by, [filter], filter, options);
}

/**
 * The same of several filters that find different events, one after the other.
 *
 * @param about - what the audit says of them together
 */
export async function* exportOfEach(
  inbox: AnyInbox,
  by: By,
  filters: readonly [EventFilter, ...EventFilter[]],
  about: unknown,
  { onProgress, signal }: ExportOptions,
): AsyncGenerator<string, void> {
  const operations = operationsOf(inbox);
  const audit = await operations.note('export', by, about, { events: 0 });
  // At once: what is stored from now on is not among them.
  const first = operations.exportPages(filters[0]);
  const totals = { events: 0, marks: 0 };
  let recountedAt = performance.now();
  try {
    yield FIRST_LINE;
    // Before the events: whoever takes them in must not begin to handle these.
    if (filters.some(isWhole)) for (const pause of await operations.pausedTypes()) yield pauseLine(pause);
    for (const [n, filter] of filters.entries()) {
      for await (const page of n === 0 ? first : operations.exportPages(filter)) {
        if (signal?.aborted === true) return;
        // Before they are handed out: the audit shall rather say too much than too little.
        totals.events += page.events;
        totals.marks += page.marks;
        if (performance.now() - recountedAt > RECOUNT_MS) {
          await operations.recount(audit, { events: totals.events });
          recountedAt = performance.now();
        }
        yield* page.lines;
        onProgress?.(totals.events);
      }
    }
    yield lastLine(totals);
  } finally {
    await operations.recount(audit, { events: totals.events });
  }
}
