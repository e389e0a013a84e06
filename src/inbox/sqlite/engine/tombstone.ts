import type { Tombstones } from '../../rules/engine.ts';
import { answer, DONE } from '../../rules/steps.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

export function tombstones({ moves, queue }: NamedStatements): Omit<Tombstones, 'timeSlice'> {
  return {
    prunable(endpoints, before, limit) {
      const rows =
        endpoints === '*'
          ? queue.prunable.all({ before, limit })
          : endpoints.flatMap((endpoint) => queue.prunableOfEndpoint.all({ endpoint, before, limit }));
      return answer(rows.slice(0, limit).map((row) => (row as { seq: number }).seq));
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
