import type { Acts, ActReport } from '../../../operator/acts.ts';
import { authorOf } from '../../../operator/author.ts';
import { actOnKeys, refuseTooManyKeys, type ActedRow, type ActEngine } from '../../../rules/act-on-events.ts';
import { asked, awaited } from '../../../rules/steps.ts';
import type { EventKey } from '../../../event.ts';
import type { Session } from '../../driver/session.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { actEngine } from './act-engine.ts';
import { held, nameOf, readActed } from './held-events.ts';
import { auditLines } from '../audit/audit-line.ts';

/** Acts on events that are named. */
export function actsOnEvents({ store, ask, notify }: Access): Pick<Acts, 'act'> {
  const { database, t, time, scene, writeAt } = store;
  return {
    async act(act, keys, by, options) {
      const author = authorOf(by);
      const times = time.asked();
      await ask(() => database.read((session) => awaited(refuseTooManyKeys(actedAsOne(session, t, keys), keys))));
      let written: { readonly report: ActReport; readonly at: number } | undefined;
      const report = await ask(() =>
        database.transaction({
          before: (session) => writeAt(session, author.now, times),
          async work(session) {
            const place = scene(session);
            const engine = { ...actEngine(place, await held(place, keys)), ...auditLines(place) };
            const now = times.toDatabase(author.now);
            const report = await awaited(actOnKeys(engine, act, keys, { ...author, now }, options));
            await engine.flush();
            await place.writes.flush();
            written = { report, at: now };
            return report;
          },
          async wasDone(session) {
            if (written === undefined) return undefined;
            // Waits for the transaction that has moved them, should it be under way still.
            await scene(session).locks.takeOfKeys(keys);
            const text = `SELECT 1 FROM ${t.audit} WHERE seq = $1 AND at_ms = $2`;
            const line = await session.row(text, [written.report.audit, written.at]);
            return line === undefined ? undefined : { result: written.report };
          },
        }),
      );
      if (report.counts.done !== undefined) notify();
      return report;
    },
  };
}

/** All of them are read when the rule asks for the first one. */
function actedAsOne(session: Session, t: Tables, keys: readonly EventKey[]): Pick<ActEngine, 'acted'> {
  let read: Promise<ReadonlyMap<string, ActedRow>> | undefined;
  const byName = async () => new Map((await readActed({ session, t }, keys)).map((row) => [nameOf(row), row]));
  return {
    acted(event) {
      if (typeof event === 'number') throw new TypeError('these are named by their keys');
      return asked((read ??= byName()).then((rows) => rows.get(nameOf(event)) ?? null));
    },
  };
}
