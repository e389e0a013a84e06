import { inTime } from '../../../operator/imported-event.ts';
import type { Transfer } from '../../../operator/transfer.ts';
import { importEvents, tryImport } from '../../../rules/import-events.ts';
import { awaited } from '../../../rules/steps.ts';
import type { Access } from '../access.ts';
import { doneOnce } from '../done-once.ts';
import { importEngine } from './import-engine.ts';
import { knownBodies } from './known-bodies.ts';

export function importing({ store, ask, notify }: Access): Pick<Transfer, 'importSome'> {
  const { database, t, time, scene } = store;
  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) {
        return ask(() =>
          database.read(async (session) => awaited(tryImport(await knownBodies(session, t, records), records))),
        );
      }
      const counts = await ask(() =>
        doneOnce(store, {
          before: (session) => time.follow(session),
          async work(session) {
            const place = scene(session);
            const known = await knownBodies(session, t, records);
            const engine = importEngine(place, known);
            const now = time.toDatabase(Date.now());
            const here = records.map((record) =>
              'event' in record ? { ...record, event: inTime(record.event, { now, trusted: record.trusted }) } : record,
            );
            const done = await awaited(importEvents(engine, here, audit));
            await engine.flush();
            await place.writes.flush();
            return done;
          },
        }),
      );
      if (counts.imported > 0) notify();
      return counts;
    },
  };
}
