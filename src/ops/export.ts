import { jsonText } from '../events/json.ts';
import { performance } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import { isWhole } from '../inbox/operator/export.ts';
import type { EventFilter } from '../inbox/operator/search.ts';
import { FIRST_LINE, lastLine, pauseLine, readExportLine, type ExportedEvent } from '../inbox/operator/transfer.ts';
import { assertOptions, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

/** The options of {@link exportEvents}. */
export interface ExportOptions {
  readonly onProgress?: (events: number) => void;
  /** Ends the export without its last line, so the export is recognisably incomplete. */
  readonly signal?: AbortSignal;
}

const EXPORT_OPTIONS: RulesFor<ExportOptions> = { onProgress: 'function', signal: true };

const RECOUNT_MS = 1_000;

/**
 * Exports events as lines of JSON, oldest first. Bodies and conflicting bodies are exported byte for byte, in base64; a
 * tombstone is exported with the hash of its former body. Without a filter, the export contains all events, the
 * high-water mark of each entity, and the paused types.
 *
 * The last line contains the number of events, so that `importEvents` can detect a truncated file. Events that are
 * stored during the export are not included. The export keeps only a few events in memory at a time; with a filter, it
 * also keeps the `seq` of each matching event.
 *
 * An export contains personal data. Protect it as you protect the inbox.
 *
 * @returns lines without line endings
 * @throws ConfigurationError `INVALID_OPTION` for an invalid filter
 * @example
 * ```ts
 * import { exportEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for await (const line of exportEvents(inbox, { actor: 'ada' }, { states: ['dead'] })) console.log(line);
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
 * The filters must not overlap.
 *
 * @param about - the filter in the audit line
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
  // Events stored from now on are not included.
  const first = operations.exportPages(filters[0]);
  const totals = { events: 0, marks: 0 };
  let recountedAt = performance.now();
  try {
    yield FIRST_LINE;
    // An importing inbox must not start to handle the events before.
    // A handler's pause ends without an operator.
    const pauses = filters.some(isWhole) ? await operations.pausedTypes() : [];
    for (const pause of pauses) if (pause.until === undefined) yield pauseLine(pause);
    for (const [n, filter] of filters.entries()) {
      const pages = n === 0 ? first : operations.exportPages(filter);
      try {
        for (let page = await pages.next(); page !== null; page = await pages.next()) {
          if (signal?.aborted === true) return;
          // The audit must not understate an export.
          totals.events += page.events;
          totals.marks += page.marks;
          if (performance.now() - recountedAt > RECOUNT_MS) {
            await operations.recount(audit, { events: totals.events });
            recountedAt = performance.now();
          }
          yield* page.lines;
          onProgress?.(totals.events);
        }
      } finally {
        await pages.end();
      }
    }
    yield lastLine(totals);
  } finally {
    await operations.recount(audit, { events: totals.events });
  }
}

/**
 * Exports events in human-readable form, oldest first, as lines without line endings. `csv` (RFC 4180) is for
 * spreadsheets: its first line begins with a byte order mark; add CR LF after each line. `json` has one line for each
 * event, with the body as JSON where possible. For an export that another inbox can import, use `exportEvents`.
 *
 * A CSV cell that a spreadsheet would run as a formula is prefixed with `'`: one that begins with `=`, `+`, `-`, `@`, a
 * tab or a line break. The export contains personal data.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an invalid filter
 * @throws RangeError for an event that these formats cannot represent; `exportEvents` can export such an event
 * @example
 * ```ts
 * import { exportReadable } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for await (const line of exportReadable(inbox, 'csv', { actor: 'ada' }, { states: ['dead'] })) console.log(line);
 * ```
 */
export async function* exportReadable(
  inbox: AnyInbox,
  format: ReadableFormat,
  by: By,
  filter: EventFilter = {},
  options: ExportOptions = {},
): AsyncGenerator<string, void> {
  assertOptions('exportReadable', options, EXPORT_OPTIONS);
  yield* readableLines(format, exportEvents(inbox, by, filter, options));
}

export async function* readableLines(
  format: ReadableFormat,
  exact: AsyncIterable<string>,
): AsyncGenerator<string, void> {
  const lineOf = format === 'csv' ? csvLine : jsonLine;
  if (format === 'csv')
    yield SPREADSHEET_MARK + [...COLUMNS.map(([name]) => name), 'last_error', 'body_bytes'].join(',');
  for await (const line of exact) {
    const read = readExportLine(line);
    if ('fault' in read) throw new RangeError(`An event cannot be written as ${format}: ${read.fault}.`);
    if ('event' in read) yield lineOf(read.event);
  }
}

/** The common fields of both readable formats. */
function factsOf(event: ExportedEvent) {
  const { endpoint, id, type, entity, created, verified, state, deadReason, receivedMs, settledMs, dueMs } = event;
  return {
    endpoint,
    id,
    type,
    entity,
    created: timeOf(created?.ms ?? null),
    verified,
    state,
    deadReason,
    received: timeOf(receivedMs),
    settled: timeOf(settledMs),
    due: state === 'pending' ? timeOf(dueMs) : null,
    attempts: event.begun,
    failures: event.failures,
    fingerprint: event.fingerprint,
    redeliveries: event.redeliveries?.count ?? 0,
    conflicts: event.conflict?.count ?? 0,
    lastError: event.attempts.findLast(({ error }) => error !== null)?.error ?? null,
  };
}

type Cell = string | number | boolean | null;

const COLUMNS: readonly (readonly [name: string, of: Exclude<keyof ReturnType<typeof factsOf>, 'lastError'>])[] = [
  ['received', 'received'],
  ['endpoint', 'endpoint'],
  ['id', 'id'],
  ['type', 'type'],
  ['about', 'entity'],
  ['created', 'created'],
  ['state', 'state'],
  ['dead_reason', 'deadReason'],
  ['settled', 'settled'],
  ['due', 'due'],
  ['attempts', 'attempts'],
  ['failures', 'failures'],
  ['redeliveries', 'redeliveries'],
  ['conflicts', 'conflicts'],
  ['verified', 'verified'],
];

function csvLine(event: ExportedEvent): string {
  const facts = factsOf(event);
  const { lastError } = facts;
  const cells: readonly Cell[] = [
    ...COLUMNS.map(([, of]) => facts[of]),
    lastError && `${lastError.name}: ${lastError.message ?? ''}`,
    event.body?.byteLength ?? null,
  ];
  return cells.map(csvCell).join(',');
}

const FORMULA = /^[=+\-@\t\r\n]/;

export function csvCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const harmless = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function jsonLine(event: ExportedEvent): string {
  const history = event.attempts.map(({ number, trigger, outcome, startedMs, endedMs, error }) => {
    return { number, trigger, outcome, started: timeOf(startedMs), ended: timeOf(endedMs), error };
  });
  return `${JSON.stringify({ ...factsOf(event), history }).slice(0, -1)},${bodyField(event.body)}}`;
}

/** In base64 unless it is JSON in UTF-8. */
function bodyField(body: Uint8Array | null): string {
  if (body === null) return '"body":null';
  const text = jsonText(body);
  // Within JSON texts, line ends are escaped.
  if (text !== null) return `"body":${text.replaceAll(/[\r\n]+/g, ' ')}`;
  return `"bodyBase64":${JSON.stringify(Buffer.from(body).toString('base64'))}`;
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

export const readableFormats = ['csv', 'json'] as const;
/** The formats of {@link exportReadable}. */
export type ReadableFormat = (typeof readableFormats)[number];

export const exportFormats = ['exact', 'json', 'csv'] as const;

/** A byte order mark, so that spreadsheets read UTF-8. */
export const SPREADSHEET_MARK = '\ufeff';

export const EXPORT_FORMATS = {
  exact: 'exact copy, which can be imported',
  json: 'readable JSON',
  csv: 'CSV for a spreadsheet',
} as const satisfies Record<(typeof exportFormats)[number], string>;
