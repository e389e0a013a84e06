import { eraseEntity, type ErasingStore } from '../../../operator/erase-entity.ts';
import type { Removal } from '../../../operator/removal.ts';
import type { Author } from '../../../rules/audit-line.ts';
import { eraseEvents } from '../../../rules/erase-events.ts';
import { awaited } from '../../../rules/steps.ts';
import { toKey } from '../../sql/keys.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { doneOnce } from '../done-once.ts';
import { byteSlice } from './byte-slice.ts';
import type { EntityIndex } from './entity-index.ts';
import { aboutEntity, erasures } from './erasures.ts';
import { keptActs } from './kept-acts.ts';

/** Removes what is kept about an entity. */
export function erasing(access: Access, index: EntityIndex): Pick<Removal, 'erase'> {
  const { store: there, ask, notify } = access;
  const { database, t, time, scene, writeAt } = there;
  const inDatabase = (author: Author): Author => ({ ...author, now: time.toDatabase(author.now) });
  const store: ErasingStore = {
    withTerm: (...given) => ask(() => database.read((session) => index.withTerm(session, ...given))),
    async withConflict(behind, limit) {
      const text = `SELECT seq FROM ${t.conflicts} WHERE seq > $1 ORDER BY seq LIMIT $2`;
      const rows = await ask(() => database.read((session) => session.rows<{ seq: number }>(text, [behind, limit])));
      return rows.map(({ seq }) => seq);
    },
    about: (seqs, entity) => ask(() => database.read((session) => aboutEntity(session, t, index, seqs, entity))),
    acts: keptActs(access),
    begin: (author, about, counts) =>
      ask(() =>
        doneOnce(there, {
          before: (session) => time.follow(session),
          work: (session) =>
            awaited(auditLines({ session, t }).addAuditLine('erase', inDatabase(author), about, counts)),
        }),
      ),
    eraseSome: (events, { entity, audit, author }) =>
      ask(() =>
        doneOnce(there, {
          before: (session) => writeAt(session, author.now),
          async work(session) {
            const place = scene(session);
            const engine = await erasures(
              place,
              index,
              events.map(({ seq }) => seq),
            );
            const erasing = { entity, audit, now: inDatabase(author).now };
            const done = await awaited(eraseEvents(engine, events, erasing, byteSlice()));
            await place.writes.flush();
            return done;
          },
        }),
      ),
    async forgetEntity(entity) {
      const text = `DELETE FROM ${t.entities} WHERE entity = $1`;
      await ask(() => database.transaction({ work: (session) => session.run(text, [toKey(entity)]) }));
    },
    // It is the whole server's.
    emptyLog: async () => null,
    notify,
  };
  return { erase: (entity, by, options) => eraseEntity(store, entity, by, options) };
}
