import { ConfigurationError } from '../../../../errors.ts';
import type { EraseOptions, EraseReport, Removal } from '../../../operator/removal.ts';
import {
  eraseEvents,
  printOf,
  tryErase,
  type Erased,
  type Erasures,
  type EventAbout,
} from '../../../rules/erase-events.ts';
import { ErasedNames } from '../../../rules/erased-names.ts';
import { entityTerm } from '../../../rules/search-words.ts';
import { answer, atOnce, DONE } from '../../../rules/steps.ts';
import { statement } from '../../sql/prepared-statement.ts';
import type { Statements } from '../../statements.ts';
import { timeSlice } from '../../engine/time-slice.ts';
import type { Access } from '../access.ts';
import { auditLines } from '../audit/audit-line.ts';
import { atCommit, authorOf } from '../../../operator/author.ts';
import { forgetTerms } from '../search/search-words.ts';
import { hideInActs } from './erased-names.ts';
import { eventsAbout, findings } from './events-about.ts';
import { emptyLog, securely } from './secure-deletion.ts';

const BATCH_EVENTS = 100;

/** Removes what is kept about an entity. */
export function erasing(access: Access): Pick<Removal, 'erase'> {
  return {
    async erase(entity, by, { dryRun = false, signal, onProgress }): Promise<EraseReport> {
      if (typeof entity !== 'string' || entity === '') {
        throw new ConfigurationError('INVALID_OPTION', 'Say which entity is to be erased.');
      }
      const author = authorOf(by);
      const names = new ErasedNames();
      names.addEntity(entity);
      const found: EventAbout[] = [];
      let examined = 0;
      for await (const page of eventsAbout(access, entity)) {
        if (signal?.aborted === true) break;
        found.push(...page.events);
        for (const event of page.events) if (event.whole) names.addNamesOf(event, entity);
        examined += page.examined;
        onProgress?.({ step: 'looking', examined, found: found.length });
      }
      if (signal?.aborted === true && !dryRun) return { ...NOTHING, audit: null, logEmptied: false };
      if (dryRun) {
        // Where nothing is left to erase, an earlier time may have left something in the log.
        const logEmptied = found.length === 0 && (await emptyLog(access));
        return { ...tryErase(found), audit: null, logEmptied };
      }

      const reason = names.hideInReason(author.reason);
      const audit = await access.write(({ database }, waitedMs) => {
        const actor = { ...atCommit(author, waitedMs), reason };
        return atOnce(auditLines(database).addAuditLine('erase', actor, { entity: printOf(entity) }, NOTHING));
      });
      // Before the events go: whoever goes on after a crash could not tell any more which ids to hide.
      const hiddenUpTo = await hideInActs(access, names);
      const done = await eraseAll(access, found, { entity, audit, now: author.now, signal, onProgress });
      await access.write(({ database }) =>
        securely(database, () => statement(database, 'DELETE FROM hookbox_entities WHERE entity = ?').run(entity)),
      );
      // And what was done to them meanwhile.
      await hideInActs(access, names, hiddenUpTo);
      access.notify();
      return { ...done, audit, logEmptied: await emptyLog(access) };
    },
  };
}

const NOTHING = { erased: 0, inProcessing: 0 };

interface Erasing {
  readonly entity: string;
  readonly audit: number;
  readonly now: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: EraseOptions['onProgress'];
}

/** In as many transactions as their size asks for. */
async function eraseAll(access: Access, events: readonly EventAbout[], erasing: Erasing): Promise<Erased> {
  const done = { ...NOTHING };
  const { entity, audit, signal, onProgress } = erasing;
  for (let at = 0; at < events.length;) {
    if (signal?.aborted === true) break;
    const rest = events.slice(at, at + BATCH_EVENTS);
    const batch = await access.write((statements, waitedMs) =>
      securely(statements.database, () =>
        atOnce(eraseEvents(erasures(statements), rest, { entity, audit, now: erasing.now + waitedMs }, timeSlice(0))),
      ),
    );
    at += batch.worked;
    done.erased += batch.erased;
    done.inProcessing += batch.inProcessing;
    onProgress?.({ step: 'erasing', worked: at, total: events.length });
  }
  return done;
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
      const sql = `UPDATE hookbox_attempts SET error_name = ?, error_message = NULL, error_stack = NULL
        WHERE seq = ? AND error_name IS NOT NULL`;
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
