import { eraseEntity, type ErasingStore } from '../../../operator/erase-entity.ts';
import type { Removal } from '../../../operator/removal.ts';
import { eraseEvents, type Erasures } from '../../../rules/erase-events.ts';
import { entityTerm } from '../../../rules/search-words.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { atCommit } from '../../../operator/author.ts';
import { forgetTerms } from '../search/search-words.ts';
import { keptActs } from './erased-names.ts';
import { eventsAbout, findings } from './events-about.ts';
import { emptyLog, securely } from './secure-deletion.ts';

/** Removes what is kept about an entity. */
export function erasing(access: Access): Pick<Removal, 'erase'> {
  const store = {
    ...eventsAbout(access),
    acts: keptActs(access),
    begin(author, about, counts) {
      return access.write(({ database }, waitedMs) =>
        atOnce(auditLines(database).addAuditLine('erase', atCommit(author, waitedMs), about, counts)),
      );
    },
    eraseSome(events, { entity, audit, author }) {
      return access.write((statements, waitedMs) => {
        const { now } = atCommit(author, waitedMs);
        const work = () => atOnce(eraseEvents(erasures(statements), events, { entity, audit, now }, timeSlice(0)));
        return securely(statements.database, work);
      });
    },
    async forgetEntity(entity) {
      await access.write(({ database }) =>
        securely(database, () => statement(database, 'DELETE FROM hookbox_entities WHERE entity = ?').run(entity)),
      );
    },
    emptyLog: () => emptyLog(access),
    notify: () => access.notify(),
  } satisfies ErasingStore;
  return { erase: (entity, by, options) => eraseEntity(store, entity, by, options) };
}

/** What erasing asks for, on the tables of a file; call it within `securely`. */
function erasures({ database, engine, moves }: Statements): Erasures {
  const run = (sql: string, ...parameters: readonly unknown[]) => {
    statement(database, sql).run(...parameters);
    return DONE;
  };
  return {
    ...engine,
    ...auditLines(database),
    ...findings(database),
    forgetFoundBy(event, entity) {
      forgetTerms(database, event);
      return run('DELETE FROM hookbox_terms WHERE term = ? AND seq = ?', entityTerm(entity), event.seq);
    },
    bodies(seq) {
      const sql = `SELECT body, ifnull((SELECT length(body) FROM hookbox_conflicts
          WHERE hookbox_conflicts.seq = hookbox_events.seq), 0) AS bytesBeside
        FROM hookbox_events WHERE seq = ?`;
      return answer(statement(database, sql).get(seq) as { body: Uint8Array | null; bytesBeside: number });
    },
    erase(seq, state, hash, now) {
      moves.erase.run({ seq, state, hash, now });
      return DONE;
    },
    eraseErrors(seq, name) {
      const sql = `UPDATE hookbox_attempts
        SET error_name = iif(error_name IS NULL, NULL, ?), error_message = NULL, error_stack = NULL, skipped = NULL
        WHERE seq = ? AND (error_name IS NOT NULL OR skipped IS NOT NULL)`;
      return run(sql, name, seq);
    },
    emptyConflict(seq) {
      const size = statement(database, 'SELECT length(body) AS bytes FROM hookbox_conflicts WHERE seq = ?').get(seq);
      run("UPDATE hookbox_conflicts SET body = x'' WHERE seq = ?", seq);
      return answer((size as { bytes: number }).bytes);
    },
    forgetHighWater({ entity, endpoint }) {
      return run('DELETE FROM hookbox_entities WHERE entity = ? AND endpoint = ?', entity, endpoint);
    },
  };
}
