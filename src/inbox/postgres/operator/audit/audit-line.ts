import type { AuditLine } from '../../../operator/audit.ts';
import { addCounts, type Author } from '../../../rules/audit-line.ts';
import type { Scene } from '../../engine/scene.ts';
import type { Write } from '../../sql/in-one-statement.ts';
import type { Tables } from '../../sql/tables.ts';

type Place = Pick<Scene, 'session' | 't'>;

/** Adds a line in the transaction of its action, and returns its `seq`. */
export async function addAuditLine(
  { session, t }: Place,
  act: string,
  { actor, via, reason, now }: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): Promise<number> {
  const text = `
    INSERT INTO ${t.audit} (at_ms, actor, via, act, reason, filter, counts) VALUES ($1, $2, $3, $4, $5, $6, $7)
    RETURNING seq`;
  const about = [JSON.stringify(filter ?? null), JSON.stringify(counts)];
  const values = [now, actor, via, act, reason, ...about];
  return (await session.row<{ seq: number }>(text, values))?.seq ?? 0;
}

/** Replaces the counts of a line, as an action that takes several transactions goes on. */
export function auditCounts(t: Tables, seq: number, counts: AuditLine['counts']): Write {
  return { text: `UPDATE ${t.audit} SET counts = $2 WHERE seq = $1`, values: [seq, JSON.stringify(counts)] };
}

/** Notes the events that the action of a line changed, so that each event can say who acted on it. */
export function actedEvents(t: Tables, line: number, events: readonly number[], now: number): Write {
  const text = `
    INSERT INTO ${t.event_acts} (seq, audit, at_ms) SELECT unnest($1::bigint[]), $2, $3 ON CONFLICT DO NOTHING`;
  return { text, values: [events, line, now] };
}

/** Adds to the counts of a line. Another transaction that adds to them waits for this one. */
export async function addToAuditLine({ session, t }: Place, seq: number, more: AuditLine['counts']): Promise<void> {
  const row = await session.row<{ counts: string }>(`SELECT counts FROM ${t.audit} WHERE seq = $1 FOR UPDATE`, [seq]);
  if (row === undefined) return;
  const before = JSON.parse(row.counts) as AuditLine['counts']; // written here
  const { text, values } = auditCounts(t, seq, addCounts(before, more));
  await session.run(text, values);
}
