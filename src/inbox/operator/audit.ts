import { ConfigurationError } from '../../errors.ts';
import type { EventKey } from '../event.ts';
import { nameOf, type Author, type By } from './acts.ts';
import { LONGEST_TEXT, pageBounds, type PageRequest } from './search.ts';
import {
  actingBy,
  type Clock,
  type Dialect,
  type OperatorTables,
  type OperatorTransaction,
  type Statement,
} from './sql.ts';

/** One action of an operator. */
export interface AuditLine {
  readonly seq: number;
  readonly at: Date;
  readonly actor: string;
  readonly via: 'code' | 'cli' | 'page';
  /**
   * rerun, discard or retry now; resume or cancel (of a bulk action); pause or resume (of a type); acknowledge or
   * reopen (a group); replay, prune, erase, import, export or backup.
   */
  readonly act: string;
  readonly reason: string | null;
  /**
   * The target as JSON: a filter, ids or a file. Actions on events have `{ endpoint, ids }`, or `{ events }` with a
   * list of these; bulk actions have `{ bulk, filter, total }`. Forced actions also have `force: true`.
   */
  readonly filter: unknown;
  /** The number of events by result. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Conditions for audit lines. A line must match all of these conditions. */
export interface AuditFilter {
  /** The exact name of the operator. */
  readonly actor?: string;
  /** Only actions at or after this time. */
  readonly since?: Date;
  /** Only actions before this time. */
  readonly until?: Date;
}

/** One page of the audit. */
export interface AuditPage {
  /** Newest first. */
  readonly lines: readonly AuditLine[];
  /**
   * Pass this value as `before` to get the next page; `null` on the last page. With a filter, hookbox examines at most
   * 5,000 lines for each page, so a page without lines may have a `next`.
   */
  readonly next: number | null;
}

/** An operator's action on one event. */
export interface EventAct extends Pick<AuditLine, 'actor' | 'via' | 'reason'> {
  /** When the operator acted on this event. */
  readonly at: Date;
  /** rerun, discard, retry now, replay or erase. */
  readonly act: string;
  /** The `seq` of the audit line. */
  readonly audit: number;
  /** The id of the bulk action that the action was part of. */
  readonly bulk: number | null;
  /** The address of a replay, and the answer: `sent` if the process ended before one came. */
  readonly replay?: { readonly to: string; readonly result: ReplayResult };
}

type ReplayResult = 'accepted' | 'failed' | 'sent';

export interface Audit {
  /**
   * Actions that change events write their audit line in the same transaction.
   *
   * @param seqs - the events whose history has the line
   */
  note(
    act: string,
    by: By,
    filter: unknown,
    counts: Readonly<Record<string, number>>,
    seqs?: readonly number[],
  ): Promise<number>;
  /** Replaces the counts of an audit line. Does nothing if the line does not exist. */
  recount(seq: number, counts: Readonly<Record<string, number>>): Promise<void>;
  /** Lists audit lines, newest first. */
  lines(request: PageRequest & AuditFilter): Promise<AuditPage>;
  /** Returns the 500 most recent actions of operators on one event, oldest first. */
  actsOn(key: EventKey): Promise<readonly EventAct[]>;
}

const MOST_ACTS = 500;
/** No index contains actors and times. */
export const LINES_LOOKED_AT = 5_000;

interface AuditRow extends Pick<AuditLine, 'seq' | 'actor' | 'via' | 'act' | 'reason'> {
  readonly at_ms: number;
  readonly filter: string;
  readonly counts: string;
}

export function audit(tables: OperatorTables): Audit {
  const { t, keyIs, joinRow } = tables.dialect;
  return {
    note: async (act, by, filter, counts, seqs) => noteLine(tables, act, actingBy(by), filter, counts, seqs),
    async recount(seq, counts) {
      await tables.change(async (tx) => {
        await tx.rows(recountedLine(t, seq, counts));
      });
    },
    async lines(request) {
      const { before, limit, actor, since, until } = auditBounds(request);
      const isFiltered = actor !== null || since !== null || until !== null;
      const beyond = `SELECT seq FROM ${t.audit} WHERE seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET ${LINES_LOOKED_AT}`;
      const text = `
        SELECT seq, at_ms, actor, via, act, reason, filter, counts FROM ${t.audit}
        WHERE seq > $1 AND seq < $2 AND (CAST($3 AS text) IS NULL OR actor = $3)
          AND (CAST($4 AS bigint) IS NULL OR at_ms >= $4) AND (CAST($5 AS bigint) IS NULL OR at_ms < $5)
        ORDER BY seq DESC LIMIT $6`;
      return tables.read(async ({ rows, toDatabase, toCaller }) => {
        const [unseen] = isFiltered ? await rows<Pick<AuditRow, 'seq'>>({ text: beyond, values: [before] }) : [];
        const [from, to] = [since, until].map((ms) => (ms === null ? null : toDatabase(ms)));
        const found = await rows<AuditRow>({ text, values: [unseen?.seq ?? -1, before, actor, from, to, limit + 1] });
        const lines = found.slice(0, limit).map(({ at_ms: at, filter, counts, ...line }) => ({
          ...line,
          at: new Date(toCaller(at)),
          filter: JSON.parse(filter) as unknown,
          counts: countsIn(counts),
        }));
        if (found.length > limit) return { lines, next: lines.at(-1)?.seq ?? null };
        // `before` excludes the line that it names.
        return { lines, next: unseen === undefined ? null : unseen.seq + 1 };
      });
    },
    async actsOn({ id, endpoint }) {
      const text = `
        SELECT acts.audit, acts.at_ms, line.actor, line.via, line.act, line.reason, line.filter, line.counts FROM (
          SELECT audit, at_ms FROM ${t.event_acts}
          WHERE seq = (SELECT seq FROM ${t.events} WHERE ${keyIs('$1', '$2')}) ORDER BY audit DESC LIMIT ${MOST_ACTS}
        ) AS acts ${joinRow(t.audit, 'line', (row) => `${row}.seq = acts.audit`)}`;
      return tables.read(async ({ rows, toCaller }) => {
        const acts = await rows<Omit<AuditRow, 'seq'> & { audit: number }>({ text, values: [id, endpoint] });
        return acts
          .toSorted((one, other) => one.audit - other.audit)
          .map(({ at_ms: at, filter, counts, ...line }) => ({
            ...line,
            at: new Date(toCaller(at)),
            bulk: (JSON.parse(filter) as { bulk?: number } | null)?.bulk ?? null, // of a bulk action, startLine wrote it
            ...(line.act === 'replay' && { replay: replayOf(filter, counts) }),
          }));
      });
    },
  };
}

function replayOf(filter: string, counts: string): NonNullable<EventAct['replay']> {
  const { to } = JSON.parse(filter) as { readonly to: string }; // of replayEvent
  const { accepted, failed } = countsIn(counts);
  return { to, result: accepted === undefined ? (failed === undefined ? 'sent' : 'failed') : 'accepted' };
}

function countsIn(json: string): AuditLine['counts'] {
  return JSON.parse(json) as AuditLine['counts']; // written by auditLine
}

export function noteLine(
  tables: OperatorTables,
  act: string,
  author: (clock: Clock) => Author,
  filter: unknown,
  counts: AuditLine['counts'],
  seqs: readonly number[] = [],
): Promise<number> {
  return tables.change(async (tx) => {
    const by = author(tx);
    const line = await addLine(tx, act, by, filter, counts);
    if (seqs.length > 0) tx.later(actedEvents(tx.dialect, line, seqs, by.now));
    return line;
  });
}

export async function addLine(
  { dialect: { t, returningSeq }, rows }: OperatorTransaction,
  act: string,
  { actor, via, reason, now }: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): Promise<number> {
  const text = `
    INSERT INTO ${t.audit} (at_ms, actor, via, act, reason, filter, counts) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ${returningSeq}`;
  const values = [now, actor, via, act, reason, JSON.stringify(filter ?? null), JSON.stringify(counts)];
  const [row] = await rows<{ seq: number }>({ text, values });
  return row?.seq ?? 0;
}

export function recountedLine(t: Dialect['t'], seq: number, counts: AuditLine['counts']): Required<Statement> {
  return { text: `UPDATE ${t.audit} SET counts = $2 WHERE seq = $1`, values: [seq, JSON.stringify(counts)] };
}

/** Adds to the counts of a line, if the line exists. */
export async function addToLine(tx: OperatorTransaction, seq: number, more: AuditLine['counts']): Promise<void> {
  const { t, forUpdate } = tx.dialect;
  const text = `SELECT counts FROM ${t.audit} WHERE seq = $1 ${forUpdate}`;
  const [line] = await tx.rows<{ counts: string }>({ text, values: [seq] });
  if (line !== undefined) tx.later(recountedLine(t, seq, addCounts(countsIn(line.counts), more)));
}

export function addCounts(before: AuditLine['counts'], more: AuditLine['counts']): AuditLine['counts'] {
  const counts = { ...before };
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}

export function actedEvents(
  { t, list }: Pick<Dialect, 't' | 'list'>,
  line: number,
  events: readonly number[],
  now: number,
): Required<Statement> {
  const text = `
    INSERT INTO ${t.event_acts} (seq, audit, at_ms)
    SELECT value, $2, $3 FROM ${list('$1', 'bigint')} WHERE true ON CONFLICT DO NOTHING`;
  return { text, values: [events, line, now] };
}

function auditBounds(request: PageRequest & AuditFilter): {
  readonly before: number;
  readonly limit: number;
  readonly actor: string | null;
  readonly since: number | null;
  readonly until: number | null;
} {
  const { actor, since, until } = request;
  const name = actor === undefined ? null : typeof actor === 'string' ? nameOf(actor) : '';
  if (name === '' || (actor ?? '').length > LONGEST_TEXT) {
    throw new ConfigurationError('INVALID_OPTION', 'actor must be a non-empty name.');
  }
  return { ...pageBounds(request), actor: name, since: since?.getTime() ?? null, until: until?.getTime() ?? null };
}
