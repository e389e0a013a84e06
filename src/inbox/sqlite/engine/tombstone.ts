import type { Tombstones } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

export function tombstones({ moves, queue }: NamedStatements): Omit<Tombstones, 'timeSlice'> {
  return {
    prunable(endpoints, before, limit) {
      const seqs: number[] = [];
      for (const endpoint of endpoints === '*' ? prunableEndpoints(queue) : endpoints) {
        const rows = queue.prunableOfEndpoint.all({ endpoint, before, limit: limit - seqs.length });
        seqs.push(...rows.map((row) => (row as { seq: number }).seq));
        if (seqs.length >= limit) break;
      }
      return answer(seqs);
    },
    bodyOf: (seq) => answer((queue.bodyOf.get({ seq }) as { body: Uint8Array }).body),
    prune(seq, hash) {
      moves.prune.run({ seq, hash });
      return DONE;
    },
    pruneErrors(seq) {
      queue.pruneAttempts.run({ seq });
      return DONE;
    },
    forgetConflict(seq) {
      queue.pruneConflict.run({ seq });
      return DONE;
    },
  };
}

/** Where processed events have bodies. */
function prunableEndpoints(queue: NamedStatements['queue']): readonly string[] {
  return queue.prunableEndpoints.all().map((row) => (row as { value: string }).value);
}
