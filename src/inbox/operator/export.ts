import { turn } from '../../host/real-timers.ts';
import type { EventKey } from '../event.ts';
import { factsOfAttempt, type AttemptFactColumns } from '../rules/attempt.ts';
import { Budget, withinBudget } from '../rules/budget.ts';
import type { EventFilter, Search } from './search.ts';
import type { Dialect, OperatorTables } from './sql.ts';
import { listedEvents } from './summaries.ts';
import {
  eventLine,
  markLine,
  type ExportedEvent,
  type ExportPage,
  type ExportPages,
  type Transfer,
} from './transfer.ts';

/** A page is read between two deliveries. */
const PAGE_EVENTS = 100;
const PAGE_BYTES = 1024 * 1024;
const FOUND_AT_ONCE = 500;

interface ExportSource {
  readonly tables: OperatorTables;
  readonly search: Search['search'];
  /** Finds events by the hashes of their entities, which an index has. */
  readonly named: Map<string, number>;
}

interface Sized {
  readonly seq: number;
  readonly bytes: number;
}

export function exporting(tables: OperatorTables, search: Search['search']): Pick<Transfer, 'exportPages'> {
  const newest = { text: `SELECT coalesce(max(seq), 0) AS seq FROM ${tables.dialect.t.events}` };
  return {
    exportPages(filter) {
      // The export excludes later events. An event that is being stored may have a lower number.
      const before = tables.read(async ({ rows }) => ((await rows<{ seq: number }>(newest))[0]?.seq ?? 0) + 1);
      before.catch(() => {}); // the reader of the first page gets the error
      return { next: exportPagesBefore(tables, search, filter, before), end: async () => {} };
    },
  };
}

/** After the last page, it returns `null`. */
export type NextPage = ExportPages['next'];

export function exportPagesBefore(
  tables: OperatorTables,
  search: Search['search'],
  filter: EventFilter,
  before: number | Promise<number>,
): NextPage {
  const source: ExportSource = { tables, search, named: new Map() };
  const parts = isWhole(filter) ? [everyEvent(source, before), marksOf(source)] : [matching(source, filter, before)];
  return async () => {
    for (const part of parts) {
      const page = await part();
      if (page !== null) return page;
    }
    return null;
  };
}

function everyEvent(source: ExportSource, before: number | Promise<number>): NextPage {
  let after: number | null = 0;
  return async () => {
    if (after === null) return null;
    await turn();
    const sized = await sizedBehind(source.tables, after, await before);
    const page = firstPage(sized);
    const isLast = sized.length < PAGE_EVENTS && page.length === sized.length;
    after = isLast ? null : (page.at(-1) ?? null);
    return page.length === 0 ? null : pageOf(source, page);
  };
}

export function isWhole(filter: EventFilter): boolean {
  return Object.values(filter).every((condition) => condition === undefined);
}

function matching(source: ExportSource, filter: EventFilter, before: number | Promise<number>): NextPage {
  const { tables } = source;
  const selectFound = `SELECT events.seq, ${sizeOf(tables.dialect)} AS bytes FROM ${listedEvents(tables.dialect)}`;
  let finding: Promise<readonly number[]> | null = null;
  let at = 0;
  return async () => {
    finding ??= matchingSeqs(source, filter, await before);
    const seqs = (await finding).slice(at, at + PAGE_EVENTS);
    if (seqs.length === 0) return null;
    await turn();
    const sizes = await tables.read(({ rows }) => rows<Sized>({ text: selectFound, values: [seqs] }));
    const bytes = new Map(sizes.map((event) => [event.seq, event.bytes]));
    const page = firstPage(seqs.map((seq) => ({ seq, bytes: bytes.get(seq) ?? 0 })));
    at += page.length;
    return pageOf(source, page);
  };
}

/** A search begins with the newest event, and an export with the oldest. */
async function matchingSeqs({ search }: ExportSource, filter: EventFilter, end: number): Promise<readonly number[]> {
  const found: number[] = [];
  for (let before: number | null = end; before !== null;) {
    const page = await search(filter, { before, limit: FOUND_AT_ONCE });
    for (const { seq } of page.events) found.push(seq);
    before = page.next;
    await turn();
  }
  return found.toReversed();
}

function firstPage(events: readonly Sized[]): readonly number[] {
  return withinBudget(events, new Budget(PAGE_BYTES)).map(({ seq }) => seq);
}

export function sizeOf({ t }: Pick<Dialect, 't'>): string {
  const other = `SELECT length(body) FROM ${t.conflicts} AS other WHERE other.seq = events.seq LIMIT 1`;
  return `coalesce(length(events.body), 0) + coalesce((${other}), 0)`;
}

function sizedBehind(tables: OperatorTables, after: number, end: number): Promise<readonly Sized[]> {
  const where = 'events.seq > $1 AND events.seq < $2 ORDER BY events.seq';
  const { dialect } = tables;
  const text = `
    SELECT events.seq, ${sizeOf(dialect)} AS bytes FROM ${dialect.t.events} AS events WHERE ${where} LIMIT ${PAGE_EVENTS}`;
  return tables.read(({ rows }) => rows<Sized>({ text, values: [after, end] }));
}

/** The entity may be a hash. */
interface MarkRow {
  readonly entity: string;
  readonly endpoint: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

function marksOf({ tables, named }: ExportSource): NextPage {
  const { t, toKey } = tables.dialect;
  const text = `
    SELECT entity, endpoint, created_ms, created_ns FROM ${t.entities}
    WHERE (entity, endpoint) > ($1, $2) ORDER BY entity, endpoint LIMIT ${PAGE_EVENTS}`;
  const names = `SELECT events.entity FROM ${listedEvents(tables.dialect)} WHERE events.entity IS NOT NULL`;
  let after: Pick<MarkRow, 'entity' | 'endpoint'> | null = { entity: '', endpoint: '' };
  return async () => {
    if (after === null) return null;
    await turn();
    const behind = { text, values: [after.entity, after.endpoint] };
    const marks = await tables.read(({ rows }) => rows<MarkRow>(behind));
    const seqs = marks.flatMap(({ entity }) => named.get(entity) ?? []);
    const statement = { text: names, values: [seqs] };
    const found = seqs.length === 0 ? [] : await tables.read(({ rows }) => rows<{ entity: string }>(statement));
    const nameOf = new Map(found.map(({ entity }) => [toKey(entity), entity]));
    const lines = marks.map(({ entity, endpoint, created_ms: ms, created_ns: ns }) =>
      // Another Postgres accepts the hash.
      markLine({ entity: nameOf.get(entity) ?? entity, endpoint, created: { ms, ns } }),
    );
    after = marks.length < PAGE_EVENTS ? null : (marks.at(-1) ?? null);
    return lines.length === 0 ? null : { lines, events: 0, marks: lines.length };
  };
}

const ATTEMPT = {
  number: 'number',
  trigger: 'trigger',
  outcome: 'outcome',
  startedMs: 'started_ms',
  endedMs: 'ended_ms',
  name: 'error_name',
  message: 'error_message',
  stack: 'error_stack',
  skipped: 'skipped',
  log: 'log',
  attempt_limit: 'attempt_limit',
  processor: 'processor',
};
const STEP = { name: 'name', attempt: 'attempt', atMs: 'at_ms', result: 'result' };
const TIMES = { count: 'count', firstMs: 'first_ms', lastMs: 'last_ms', recent: 'recent' };

type ExportedAttempt = ExportedEvent['attempts'][number];
type AttemptRow = Omit<ExportedAttempt, 'error' | keyof AttemptFactColumns | 'limit'> &
  AttemptFactColumns & {
    readonly name: string | null;
    readonly message: string | null;
    readonly stack: string | null;
  };

interface ExportedRow
  extends
    EventKey,
    Pick<ExportedEvent, 'type' | 'entity' | 'state' | 'receivedMs' | 'erasedMs' | 'body' | 'sha256' | 'fingerprint'> {
  readonly seq: number;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly verified: boolean | 0 | 1;
  readonly dead_reason: ExportedEvent['deadReason'];
  readonly trace: string | null;
  /** `null` if only the attempts have them */
  readonly due_ms: number | null;
  readonly settled_ms: number | null;
  readonly begun: number | null;
  readonly failures: number | null;
  readonly crashes: number | null;
  readonly trigger: 'auto' | 'manual' | null;
  readonly yields: boolean | 0 | 1 | null;
  readonly ran: string | null;
  readonly done: string | null;
  readonly again: string | null;
  readonly other: string | null;
  readonly other_body: Uint8Array | null;
}

/** One statement, so all rows are from one moment. */
function selectExported(dialect: Dialect): string {
  const { t, handled, state, jsonObject, jsonList } = dialect;
  const object = (columns: Readonly<Record<string, string>>): string => {
    const pairs = Object.entries(columns).map(([name, column]) => `'${name}', found.${column}`);
    return `${jsonObject}(${pairs.join(', ')})`;
  };
  const of = (selected: string, table: string): string =>
    `(SELECT ${selected} FROM ${table} AS found WHERE found.seq = events.seq LIMIT 1)`;
  const times = object(TIMES);
  return `
    SELECT events.seq, events.endpoint, events.id, events.type, events.created_ms, events.created_ns, events.entity,
      events.verified, ${state}, events.received_ms AS "receivedMs", events.erased_ms AS "erasedMs", events.body,
      events.body_sha256 AS sha256, events.trace,
      ${handled.columns}, ${of(`${jsonList}(${object(ATTEMPT)})`, t.attempts)} AS ran,
      ${of(`${jsonList}(${object(STEP)})`, t.steps)} AS done,
      ${of(times, t.redeliveries)} AS again, ${of(times, t.conflicts)} AS other, ${of('found.body', t.conflicts)} AS other_body
    FROM ${listedEvents(dialect)} ${handled.joins}`;
}

/** Skips events that no longer exist. */
async function pageOf({ tables, named }: ExportSource, seqs: readonly number[]): Promise<ExportPage> {
  const { dialect } = tables;
  const statement = { text: selectExported(dialect), values: [seqs] };
  const found = await tables.read(({ rows }) => rows<ExportedRow>(statement));
  const rowOf = new Map(found.map((row) => [row.seq, row]));
  const lines = seqs.flatMap((seq) => {
    const row = rowOf.get(seq);
    if (row === undefined) return [];
    const key = row.entity === null ? null : dialect.toKey(row.entity);
    if (key !== null && key !== row.entity) named.set(key, seq);
    return [eventLine(exportedEvent(dialect, row))];
  });
  return { lines, events: lines.length, marks: 0 };
}

function exportedEvent({ fromJson }: Pick<Dialect, 'fromJson'>, row: ExportedRow): ExportedEvent {
  const { endpoint, id, type, created_ms: ms, created_ns: ns, entity, state, receivedMs, erasedMs, body, sha256 } = row;
  const ran = fromJson(row.ran ?? '[]') as readonly AttemptRow[]; // of selectExported
  const attempts = ran.toSorted((one, other) => one.number - other.number).map(attemptOf);
  const other = timesOf(row.other);
  const steps = fromJson(row.done ?? '[]') as NonNullable<ExportedEvent['steps']>; // of selectExported
  const handled = row.due_ms === null ? handledBy(row, attempts) : row;
  return {
    endpoint,
    id,
    type,
    created: ms === null ? null : { ms, ns: ns ?? 0 },
    entity,
    verified: Boolean(row.verified),
    state,
    deadReason: row.dead_reason,
    receivedMs,
    settledMs: handled.settled_ms,
    dueMs: handled.due_ms ?? receivedMs,
    begun: handled.begun ?? 0,
    failures: handled.failures ?? 0,
    crashes: handled.crashes ?? 0,
    trigger: row.trigger ?? 'auto',
    fingerprint: row.fingerprint,
    erasedMs,
    body,
    sha256,
    attempts,
    redeliveries: timesOf(row.again),
    conflict: other === null || row.other_body === null ? null : { ...other, body: row.other_body },
    ...(steps.length > 0 && { steps: steps.toSorted((one, other) => (one.name < other.name ? -1 : 1)) }),
    ...(row.trace !== null && { trace: row.trace }),
    ...(Boolean(row.yields) && { yields: true }),
  };
}

/** Derives the numbers of a processed event from its attempts since it was stored or rerun. */
function handledBy(
  { receivedMs }: ExportedRow,
  attempts: readonly ExportedAttempt[],
): Pick<ExportedRow, 'settled_ms' | 'due_ms' | 'begun' | 'failures' | 'crashes'> {
  const since = attempts.findLastIndex(({ trigger }) => trigger === 'manual');
  const run = attempts.slice(Math.max(since, 0));
  const last = attempts.at(-1);
  return {
    settled_ms:
      attempts.findLast(({ outcome }) => outcome === 'processed' || outcome === 'superseded')?.endedMs ?? receivedMs,
    due_ms: attempts.length > 1 ? (last?.startedMs ?? receivedMs) : receivedMs,
    begun: last?.number ?? 0,
    failures: run.filter(({ outcome }) => outcome === 'failed').length,
    crashes: run.filter(({ outcome }) => outcome === 'crashed').length,
  };
}

function attemptOf({ number, trigger, outcome, startedMs, endedMs, ...row }: AttemptRow): ExportedAttempt {
  const { name, message, stack } = row;
  const error = name === null ? null : { name, message, stack };
  return {
    number,
    trigger,
    outcome,
    startedMs,
    endedMs,
    error,
    ...factsOfAttempt(row),
  };
}

function timesOf(json: string | null): ExportedEvent['redeliveries'] {
  if (json === null) return null;
  const { recent, ...times } = JSON.parse(json) as { count: number; firstMs: number; lastMs: number; recent: string };
  return { ...times, recentMs: JSON.parse(recent) as number[] };
}
