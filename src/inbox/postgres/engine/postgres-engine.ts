import type { Engine } from '../../rules/engine.ts';
import { nextInQueues } from './entity-queue.ts';
import { asked, DONE } from '../../rules/steps.ts';
import type { Scene } from './scene.ts';
import { takers } from './takers.ts';
import { toPending } from './settled-events.ts';

/** What the rules ask for, carried out in one transaction; each statement is waited for. */
export function postgresEngine(scene: Scene): Engine {
  const { session, t, writes } = scene;
  return {
    counts: writes.counts,
    // Before the transaction (latest-time.ts): a transaction that held the row of the clock would delay all others.
    noteTime: () => DONE,
    nextInQueues: (queues, handledSince) => asked(nextInQueues(scene, queues, handledSince)),
    unpark(seqs) {
      scene.writes.unpark(seqs);
      return DONE;
    },
    ...takers(scene),
    toPending: (key, content, now) => asked(toPending(scene, key, content, now)),
    bodyOf(seq) {
      const found = session.row<{ body: Buffer | null }>(`SELECT body FROM ${t.events} WHERE seq = $1`, [seq]);
      return asked(found.then((row) => row?.body ?? new Uint8Array()));
    },
    prune(seq, hash) {
      writes.prune(seq, hash);
      return DONE;
    },
    pruneErrors(seq) {
      writes.pruneErrors(seq);
      return DONE;
    },
    forgetConflict(seq) {
      writes.forgetConflict(seq);
      return DONE;
    },
  };
}
