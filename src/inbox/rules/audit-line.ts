import type { By } from '../operator/acts.ts';
import type { AuditLine } from '../operator/audit.ts';

/** Who acts, as the audit keeps it, and when. */
export interface Author {
  readonly actor: string;
  readonly via: NonNullable<By['via']>;
  readonly reason: string | null;
  readonly now: number;
}

type LineCounts = AuditLine['counts'];

/** Counts are added in the transaction that they are about, so that they are right however a run ends. */
export function addCounts(before: LineCounts, more: LineCounts): LineCounts {
  const counts = { ...before };
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}
