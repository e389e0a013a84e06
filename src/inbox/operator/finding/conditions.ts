import { jsonText } from '../../../events/json.ts';
import type { EventKey } from '../../event.ts';
import { retryGroupOf } from '../../rules/error-groups.ts';
import type { Term } from '../../rules/entity-terms.ts';
import { filterTimes, type EventFilter, type EventSummary } from '../search.ts';
import { bodyPath, type BodyStep } from './bodies.ts';
import { wantedText, type WantedText } from './body-text.ts';
import type { Clock, Dialect, Reader, Statement } from '../sql.ts';
import { eventsIn, lastErrorOf, lastFailed, lastOutcome, listedEvents, type SummaryRow } from '../summaries.ts';

export interface Conditions {
  /** without the fingerprint of a group of retries */
  readonly filter: EventFilter;
  readonly retryGroup: string | null;
  readonly terms: readonly Term[];
  readonly error: string | null;
  readonly text: string | null;
  readonly keys: ReadonlySet<string> | null;
  readonly body: readonly { readonly steps: readonly BodyStep[]; readonly value: string }[];
  readonly bodyText: WantedText | null;
}

export function keyText({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}

export function conditionsOf(filter: EventFilter): Conditions {
  const terms: Term[] = [];
  if (filter.entity !== undefined) terms.push(`entity ${filter.entity}`);
  if (filter.merchant !== undefined) terms.push(`merchant ${filter.merchant}`);
  const retryGroup = retryGroupOf(filter);
  const { fingerprint: _, ...others } = filter;
  return {
    filter: retryGroup === null ? filter : others,
    retryGroup,
    terms,
    error: filter.error?.toLowerCase() ?? null,
    text: filter.text?.toLowerCase() ?? null,
    keys: filter.events === undefined ? null : new Set(filter.events.map(keyText)),
    body: (filter.body ?? []).map(({ path, value }) => ({ steps: bodyPath(path), value })),
    bodyText: filter.bodyText === undefined ? null : wantedText(filter.bodyText, filter.bodyTextExcept ?? []),
  };
}

export function inDatabaseTime({ filter, ...others }: Conditions, { toDatabase }: Clock): Conditions {
  const times: Partial<Record<(typeof filterTimes)[number], Date>> = {};
  for (const name of filterTimes) {
    const time = filter[name];
    if (time !== undefined) times[name] = new Date(toDatabase(time.getTime()));
  }
  return { ...others, filter: { ...filter, ...times } };
}

export interface FittingRow extends EventKey, Sized {
  readonly type: string | null;
  readonly entity: string | null;
  readonly lastError: EventSummary['lastError'];
}

export type FittingColumns = Pick<
  SummaryRow,
  'seq' | 'endpoint' | 'id' | 'type' | 'entity' | 'bytes' | 'error_name' | 'error_message'
>;

const RETRYING = "state = 'pending' AND failures > 0";
const DEAD = "state = 'dead' AND body IS NOT NULL";

/** Candidates are looked up by key, so the conditions need no index. */
function selectFitting(dialect: Dialect): string {
  const { t, anyOf } = dialect;
  const there = (table: string, where: string): string =>
    `((SELECT 1 FROM ${table} AS found WHERE found.seq = event.seq AND ${where} LIMIT 1) IS NOT NULL)`;
  const isFlag = (parameter: string, condition: string): string =>
    `(CAST(${parameter} AS bigint) IS NULL OR CASE WHEN ${condition} THEN 1 ELSE 0 END = ${parameter})`;
  const isIn = (column: string, parameter: string): string =>
    `(${anyOf(column, parameter, 'text')} OR ${parameter} IS NULL)`;
  const isIndexed = (term: string): string =>
    `(CAST(${term} AS text) IS NULL OR seq > $17 OR ${there(t.terms, `found.term = ${term}`)})`;
  const errorColumn = (column: 'error_name' | 'error_message'): string =>
    `CASE WHEN CAST($18 AS bigint) = 1 THEN ${lastFailed(t, column)} END AS ${column}`;
  const failedAt = `CASE WHEN ${DEAD} THEN put_away_ms WHEN ${RETRYING} THEN (
      SELECT ended_ms FROM ${t.attempts} WHERE seq = event.seq ORDER BY number DESC LIMIT 1) END`;
  return `
    SELECT seq, endpoint, id, type, entity, length(body) AS bytes, ${errorColumn('error_name')},
      ${errorColumn('error_message')}
    FROM ${eventsIn(dialect, listedEvents(dialect))}
    WHERE (CAST($2 AS text) IS NULL OR endpoint = $2)
      AND (CAST($3 AS text) IS NULL OR id = $3)
      AND ${isIn('type', '$4')} AND ${isIn('state', '$5')} AND ${isIn('dead_reason', '$6')}
      AND (CAST($7 AS bigint) IS NULL OR received_ms >= $7)
      AND (CAST($8 AS bigint) IS NULL OR received_ms < $8)
      AND (CAST($9 AS text) IS NULL OR (${DEAD} AND coalesce(fingerprint, dead_reason) = $9))
      AND (CAST($10 AS bigint) IS NULL OR (state = 'ignored' AND put_away_ms >= $10))
      AND ${isFlag('$11', RETRYING)}
      AND ${isFlag('$12', there(t.redeliveries, 'true'))}
      AND ${isFlag('$13', there(t.conflicts, 'true'))}
      AND (CAST($14 AS bigint) = 0 OR ${there(t.attempts, 'found.error_name IS NOT NULL')})
      AND ${isIndexed('$15')} AND ${isIndexed('$16')}
      AND (CAST($19 AS bigint) IS NULL OR ${failedAt} >= $19)
      AND (CAST($20 AS bigint) IS NULL OR ${failedAt} < $20)
      AND (CAST($21 AS bigint) IS NULL OR ${there(t.bulk_events, "found.bulk = $21 AND found.result = 'done'")})
      AND ${isFlag('$22', `state = 'processed' AND ${lastOutcome(t)} = 'superseded'`)}`;
}

/** The statement cannot check bodies, or terms after `indexed`. */
export function fittingEvents(
  dialect: Dialect,
  { filter, error, text, retryGroup, terms: [term, otherTerm] }: Conditions,
  seqs: readonly number[],
  indexed: number,
): Statement {
  const values = [
    seqs,
    filter.endpoint ?? null,
    filter.id ?? null,
    filter.types ?? null,
    filter.states ?? null,
    filter.deadReasons ?? null,
    filter.since?.getTime() ?? null,
    filter.until?.getTime() ?? null,
    filter.fingerprint ?? null,
    filter.ignoredSince?.getTime() ?? null,
    asNumber(filter.retrying),
    asNumber(filter.redelivered),
    asNumber(filter.conflict),
    Number(error !== null),
    term === undefined ? null : dialect.toKey(term),
    otherTerm === undefined ? null : dialect.toKey(otherTerm),
    indexed,
    Number(retryGroup !== null || text !== null || error !== null),
    filter.failedSince?.getTime() ?? null,
    filter.failedUntil?.getTime() ?? null,
    filter.bulk ?? null,
    asNumber(filter.superseded),
  ];
  return { text: selectFitting(dialect), values };
}

function asNumber(flag: boolean | undefined): number | null {
  return flag === undefined ? null : Number(flag);
}

export function fittingRow({ seq, endpoint, id, type, entity, bytes, ...error }: FittingColumns): FittingRow {
  return { seq, endpoint, id, type, entity, bytes, lastError: lastErrorOf(error) };
}

export interface Sized {
  readonly seq: number;
  /** `null` for a tombstone */
  readonly bytes: number | null;
}

/** A larger body is read alone. */
const READ_AT_ONCE = 1024 * 1024;

/** Reads a body together with those that follow it. */
export class BodiesInTurn {
  readonly #text: string;
  readonly #rows: readonly Sized[];
  readonly #read = new Map<number, Uint8Array | null>();

  constructor({ t, list, joinRow }: Pick<Dialect, 't' | 'list' | 'joinRow'>, rows: readonly Sized[]) {
    const events = joinRow(t.events, 'events', (row) => `${row}.seq = value`);
    this.#text = `SELECT events.seq, events.body FROM ${list('$1', 'bigint')} ${events}`;
    this.#rows = rows;
  }

  /** `null` if it is pruned, or not JSON. Call it once for each event, in order. */
  async text(seq: number, rows: Reader['rows']): Promise<string | null> {
    if (!this.#read.has(seq)) {
      const values = [this.#from(seq)];
      this.#read.clear();
      const found = await rows<{ seq: number; body: Uint8Array | null }>({ text: this.#text, values });
      for (const row of found) this.#read.set(row.seq, row.body);
    }
    const body = this.#read.get(seq) ?? null;
    this.#read.delete(seq);
    return body === null ? null : jsonText(body);
  }

  #from(seq: number): readonly number[] {
    const first = this.#rows.findIndex((row) => row.seq === seq);
    const wanted: number[] = [];
    let sum = 0;
    for (const { seq: next, bytes } of this.#rows.slice(first)) {
      sum += bytes ?? 0;
      if (wanted.length > 0 && sum > READ_AT_ONCE) break;
      wanted.push(next);
    }
    return wanted;
  }
}
