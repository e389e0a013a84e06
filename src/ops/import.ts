import type { EntityOf } from '../events/entity.ts';
import { ConfigurationError } from '../errors.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import {
  readExportLine,
  type ExportedPause,
  type ExportTotals,
  type ImportCounts,
  type ImportRecord,
} from '../inbox/operator/transfer.ts';
import { importedEvent } from '../inbox/operator/imported-event.ts';
import { assertOptions, type RulesFor } from '../option-rules.ts';
import type { EndpointType } from '../inbox/rules/pauses.ts';
import { operationsOf } from './operations-of.ts';
import { plural } from './words/format.ts';

/** The result of {@link importEvents}. */
export interface ImportReport extends ImportCounts {
  /** The `seq` of the audit line; `null` for a dry run. */
  readonly audit: number | null;
  /** The types that are now paused in this inbox, as in the export. Absent without such types. */
  readonly paused?: readonly EndpointType[];
}

/** The options of {@link importEvents}. */
export interface ImportOptions {
  /**
   * `true` for an export of your own inbox that was kept private. The import then also trusts the data outside the
   * bodies, and pauses the types that the export lists as paused. Otherwise, each event is stored as not verified, its
   * entity is read from its body, and the high-water marks are derived only from bodies.
   *
   * @defaultValue `false`
   */
  readonly trusted?: boolean;
  /** The `entity` option of your receiver, if it has one. Used only if `trusted` is not set. */
  readonly entity?: EntityOf;
  /**
   * `true` only counts the events.
   *
   * @defaultValue `false`
   */
  readonly dryRun?: boolean;
  /** Where the lines came from, such as a file name. The audit shows this text. */
  readonly from?: string;
  readonly onProgress?: (counts: ImportCounts) => void;
  /** Stops after the current batch. The report then contains the counts so far. */
  readonly signal?: AbortSignal;
}

const OPTIONS: RulesFor<ImportOptions> = {
  trusted: 'boolean',
  entity: 'function',
  dryRun: 'boolean',
  from: true,
  onProgress: 'function',
  signal: true,
};

/** What one transaction takes: deliveries share its commit. */
const BATCH_LINES = 100;
const BATCH_CHARACTERS = 2 * 1024 * 1024;

/**
 * Imports the lines of an export. Bodies, ids, states, attempts, times and the order stay the same; the events are
 * placed after the existing ones.
 *
 * An event that is already in the inbox does not change, so you can repeat an import. However, if you resume a type
 * that an import paused, a second import pauses the type again. An event that was being handled is imported as pending
 * and due. Stop the processors of the old inbox first; otherwise, handlers may run twice for the same event.
 *
 * Each body is parsed again. A line whose body has a different id is rejected. A pending event that fits no current
 * schema becomes `dead(invalid)`. A time in the future is replaced by the current time.
 *
 * A faulty line ends the import; earlier lines remain imported. The error gives the line's number but never quotes the
 * line.
 *
 * @param lines - with or without line endings, for example from `readline` or from `exportEvents`
 * @throws ConfigurationError `INVALID_OPTION` for a faulty line, or an export that ends early
 * @example
 * ```ts
 * import { exportEvents, importEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using from = sqliteInbox('shop.db');
 * await using to = sqliteInbox('copy.db');
 * const lines = exportEvents(from, { actor: 'ada' });
 * const { imported } = await importEvents(to, lines, { actor: 'ada' }, { trusted: true });
 * console.log(`${imported} events`);
 * ```
 */
export async function importEvents(
  inbox: AnyInbox,
  lines: AsyncIterable<string> | Iterable<string>,
  by: By,
  options: ImportOptions = {},
): Promise<ImportReport> {
  assertOptions('importEvents', options, OPTIONS);
  const { trusted = false, entity, dryRun = false, from, onProgress, signal } = options;
  const operations = operationsOf(inbox);
  const counts = { imported: 0, known: 0, different: 0 };
  const about = { ...(from !== undefined && { from }), ...(trusted && { trusted }) };
  const audit = dryRun ? null : await operations.note('import', by, about, counts);
  const rules = { trusted, entity, now: Date.now() };
  const paused: EndpointType[] = [];
  let pauses: ExportedPause[] = [];
  let records: ImportRecord[] = [];
  let characters = 0;

  /** The pauses come first, so that no processor begins to handle their events. */
  async function flush(): Promise<void> {
    for (const { reason, ...pausedType } of dryRun ? [] : pauses) {
      await operations.pauseType(pausedType, { ...by, ...(reason !== null && { reason }) });
      paused.push(pausedType);
    }
    if (records.length > 0) {
      const taken = await operations.importSome(records, audit === null ? { dryRun } : { audit });
      counts.imported += taken.imported;
      counts.known += taken.known;
      counts.different += taken.different;
      onProgress?.({ ...counts });
    }
    pauses = [];
    records = [];
    characters = 0;
  }

  const seen = { events: 0, marks: 0 };
  let number = 0;
  let place: Place = 'before';
  for await (const given of lines) {
    number += 1;
    // `readline` leaves a byte order mark where it is.
    const text = number === 1 ? given.replace(/^\ufeff/, '') : given;
    if (text.trim() === '') continue;
    const line = readExportLine(text);
    const record = 'event' in line ? importedEvent(line.event, rules) : null;
    const fault = faultOf(line, place, seen) ?? (record !== null && 'fault' in record ? record.fault : null);
    if (fault !== null) {
      await flush();
      const message = `Line ${number} cannot be imported: ${fault}. The lines before it were imported. ${SAFE_AGAIN}`;
      throw new ConfigurationError('INVALID_OPTION', message);
    }
    if ('first' in line) place = 'within';
    if ('end' in line) place = 'after';
    if ('event' in line) seen.events += 1;
    if ('mark' in line) seen.marks += 1;
    if (record !== null && 'event' in record) records.push(record);
    else if ('mark' in line && trusted) records.push(line);
    else if ('pause' in line && trusted) pauses.push(line.pause);
    else continue;
    characters += text.length;
    if (records.length < BATCH_LINES && characters < BATCH_CHARACTERS) continue;
    await flush();
    if (signal?.aborted === true) return report();
  }
  await flush();
  if (place !== 'after') throw new ConfigurationError('INVALID_OPTION', endedEarly(number, place));
  return report();

  function report(): ImportReport {
    return { ...counts, audit, ...(paused.length > 0 && { paused }) };
  }
}

type Place = 'before' | 'within' | 'after';

const SAFE_AGAIN = 'Importing them again is safe.';

function faultOf(line: ReturnType<typeof readExportLine>, place: Place, seen: ExportTotals): string | null {
  if ('fault' in line) return line.fault;
  if (place === 'after') return 'it follows the last line of the export';
  if ((place === 'before') !== 'first' in line) {
    return place === 'before' ? 'the first line of the export is missing' : 'it begins a second export';
  }
  if (!('end' in line) || (line.end.events === seen.events && line.end.marks === seen.marks)) return null;
  const inWords = ({ events, marks }: ExportTotals): string =>
    `${plural(events, 'event')} and ${plural(marks, 'entity', 'entities')}`;
  return `it says that the export has ${inWords(line.end)}, but the file has ${inWords(seen)}`;
}

function endedEarly(lines: number, place: 'before' | 'within'): string {
  if (place === 'before') return 'The export is empty.';
  return (
    `The export ends early, after line ${lines}: its last line is missing, and events may be missing too. ` +
    `The lines that it contains were imported. ${SAFE_AGAIN}`
  );
}
