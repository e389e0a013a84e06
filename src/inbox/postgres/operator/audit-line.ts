import { auditLine, countsOfLine, moreCounts, type AuditLine } from '../../operator/audit.ts';
import type { Author } from '../../operator/acts.ts';
import type { Scene } from '../engine/scene.ts';

import { postgres } from './operator-tables.ts';

type Place = Pick<Scene, 'session' | 't'>;

/** Adds a line in the transaction of its action, and returns its `seq`. */
export async function addAuditLine(
  { session, t }: Place,
  act: string,
  author: Author,
  filter: unknown,
  counts: AuditLine['counts'],
): Promise<number> {
  const { text, values } = auditLine(postgres(t), act, author, filter, counts);
  return (await session.row<{ seq: number }>(text, values))?.seq ?? 0;
}

export async function addToAuditLine({ session, t }: Place, seq: number, more: AuditLine['counts']): Promise<void> {
  const { text, values } = countsOfLine(postgres(t), seq);
  const row = await session.row<{ seq: number; counts: string }>(text, values);
  for (const save of moreCounts(t, row, more)) await session.run(save.text, save.values);
}
