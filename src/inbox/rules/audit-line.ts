import type { By } from '../operator/acts.ts';
import type { AuditLine } from '../operator/audit.ts';
import type { Steps } from './steps.ts';

/** Who acts, as the audit keeps it, and when. */
export interface Author {
  readonly actor: string;
  readonly via: NonNullable<By['via']>;
  readonly reason: string | null;
  readonly now: number;
}

type LineCounts = AuditLine['counts'];

/** The lines of the audit, which are written in the transactions of the actions themselves. */
export interface AuditLines {
  /** Answers with the `seq` of the line. */
  addAuditLine(act: string, author: Author, filter: unknown, counts: LineCounts): Steps<number>;
  /** What a line has counted; `undefined` where there is no such line. */
  auditCounts(seq: number): Steps<LineCounts | undefined>;
  /** Replaces the counts of a line, as an action that takes several transactions goes on. */
  recountAuditLine(seq: number, counts: LineCounts): Steps<void>;
  /** Notes which events the action of a line was done to, so that each can say who acted on it. */
  noteActed(line: number, events: readonly number[], now: number): Steps<void>;
}

/** Adds to the counts of a line in the transaction that they are about, so that they are right however a run ends. */
export function* addToAuditLine(engine: AuditLines, seq: number, more: LineCounts): Steps<void> {
  const before = yield* engine.auditCounts(seq);
  if (before !== undefined) yield* engine.recountAuditLine(seq, addCounts(before, more));
}

function addCounts(before: LineCounts, more: LineCounts): LineCounts {
  const counts = { ...before };
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}
