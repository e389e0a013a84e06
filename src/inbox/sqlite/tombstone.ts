import type { Tombstones } from '../rules/engine.ts';
import { answer, atOnce, DONE } from '../rules/steps.ts';
import { makeTombstone as makeTombstoneSteps } from '../rules/tombstone.ts';
import type { NamedStatements } from './named-statements.ts';

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

/** For operators: leaves of an event what a tombstone keeps (rules/tombstone.ts). */
export function makeTombstone({ engine }: { readonly engine: Tombstones }, seq: number, body: Uint8Array): void {
  atOnce(makeTombstoneSteps(engine, seq, body));
}
