import { ConfigurationError } from '../../errors.ts';
import {
  planAcknowledge,
  webLink,
  type Acknowledgement,
  type AcknowledgeResult,
  type StoredAcknowledgement,
} from '../rules/acknowledging.ts';
import { gaugeOf, MOST_COUNTED } from '../rules/counted.ts';
import { isSameTime } from '../rules/shown.ts';
import type { By } from './acts.ts';
import { addLine } from './audit.ts';
import { LONGEST_TEXT } from './search.ts';
import { actingBy, type Clock, type Dialect, type OperatorTables } from './sql.ts';

/** The options of `acknowledgeGroup`. */
export interface AcknowledgeOptions {
  /** The address of a runbook or a ticket, which begins with `https://` or `http://`. */
  readonly link?: string;
  /** The number of events that you saw in the group. If the group has more by now, nothing is changed. */
  readonly count?: number;
}

/** The result of `acknowledgeGroup`. */
export interface AcknowledgeReport {
  readonly result: AcknowledgeResult;
  /** `null` unless `result` is `done`. */
  readonly acknowledgement: Acknowledgement | null;
}

export interface Acknowledging {
  /** @param shown - the time of the acknowledgement that an operator saw, or `null` for none */
  acknowledgeGroup(
    fingerprint: string,
    by: By,
    options: AcknowledgeOptions,
    shown?: Date | null,
  ): Promise<AcknowledgeReport>;
  /**
   * Returns the removed acknowledgement, or `null` if the group was not acknowledged.
   *
   * @param shown - the time of the acknowledgement that an operator saw; another one stays
   */
  reopenGroup(fingerprint: string, by: By, shown?: Date): Promise<Acknowledgement | null>;
}

export interface AcknowledgedRow extends StoredAcknowledgement {
  readonly print: string;
  /** when an event of the group last became dead */
  readonly newestMs: number | null;
}

interface SizeRow {
  readonly count: number;
  readonly lastMs: number | null;
  /** of its acknowledgement */
  readonly atMs: number | null;
}

const COLUMNS = 'print, at_ms AS "atMs", actor, reason, link, count, last_ms AS "lastMs"';

/** The first parameter is the list of groups. */
export function selectAcknowledged({ t, list, joinRow, dead: { inTime, print } }: Dialect): string {
  const lastDied = `SELECT settled_ms FROM ${inTime} AND ${print} = value ORDER BY settled_ms DESC LIMIT 1`;
  return `
    SELECT ${COLUMNS}, (${lastDied}) AS "newestMs"
    FROM ${list('$1', 'text')} ${joinRow(t.acknowledged, 'known', (row) => `${row}.print = value`)}`;
}

export function acknowledgementOf(
  { atMs, actor, reason, link, count }: StoredAcknowledgement,
  { toCaller }: Pick<Clock, 'toCaller'>,
): Acknowledgement {
  return { at: new Date(toCaller(atMs)), actor, reason, link, count: gaugeOf(count).count };
}

export function acknowledging(tables: OperatorTables): Acknowledging {
  const { t, dead, forUpdate } = tables.dialect;
  const ofGroup = `${dead.from} AND ${dead.print} = $1`;
  const size = `
    SELECT (SELECT count(*) FROM (SELECT 1 FROM ${ofGroup} LIMIT ${MOST_COUNTED}) AS counted) AS count,
      (SELECT settled_ms FROM ${dead.inTime} AND ${dead.print} = $1 ORDER BY settled_ms DESC LIMIT 1) AS "lastMs",
      (SELECT at_ms FROM ${t.acknowledged} WHERE print = $1) AS "atMs"`;
  const save = `
    INSERT INTO ${t.acknowledged} (print, at_ms, actor, reason, link, count, last_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (print) DO UPDATE SET at_ms = excluded.at_ms, actor = excluded.actor, reason = excluded.reason,
      link = excluded.link, count = excluded.count, last_ms = excluded.last_ms`;
  return {
    async acknowledgeGroup(fingerprint, by, options, shown) {
      const author = actingBy(by);
      const link = webLink(options.link);
      assertFingerprint(fingerprint);
      return tables.change(async (tx): Promise<AcknowledgeReport> => {
        const [found] = await tx.rows<SizeRow>({ text: size, values: [fingerprint] });
        if (shown !== undefined && !isSameTime(found?.atMs ?? null, shown && tx.toDatabase(shown.getTime()))) {
          return { result: 'changed', acknowledgement: null };
        }
        const lastMs = found?.lastMs ?? null;
        const group = found === undefined || lastMs === null ? null : { count: found.count, lastMs };
        const by = author(tx);
        const { result, known } = planAcknowledge(group, options.count ?? null, link, by);
        if (known === null) return { result, acknowledgement: null };
        const counts = { events: gaugeOf(known.count).count };
        await addLine(tx, 'acknowledge', by, { fingerprint, ...(link !== null && { link }) }, counts);
        const { atMs, actor, reason, count } = known;
        tx.later({ text: save, values: [fingerprint, atMs, actor, reason, link, count, known.lastMs] });
        return { result, acknowledgement: acknowledgementOf(known, tx) };
      });
    },
    async reopenGroup(fingerprint, by, shown) {
      const author = actingBy(by);
      assertFingerprint(fingerprint);
      const text = `SELECT ${COLUMNS} FROM ${t.acknowledged} WHERE print = $1 ${forUpdate}`;
      return tables.change(async (tx): Promise<Acknowledgement | null> => {
        const [row] = await tx.rows<StoredAcknowledgement>({ text, values: [fingerprint] });
        if (row === undefined) return null;
        if (shown !== undefined && !isSameTime(row.atMs, tx.toDatabase(shown.getTime()))) return null;
        tx.later({ text: `DELETE FROM ${t.acknowledged} WHERE print = $1`, values: [fingerprint] });
        await addLine(tx, 'reopen', author(tx), { fingerprint }, {});
        return acknowledgementOf(row, tx);
      });
    },
  };
}

function assertFingerprint(fingerprint: unknown): void {
  if (typeof fingerprint === 'string' && fingerprint !== '' && fingerprint.length <= LONGEST_TEXT) return;
  throw new ConfigurationError('INVALID_OPTION', 'fingerprint must be the fingerprint of a group of dead events.');
}
