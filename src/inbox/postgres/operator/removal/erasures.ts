import {
  eventAbout,
  type ErasableEvent,
  type Erasures,
  type EventAbout,
  type Findings,
} from '../../../rules/erase-events.ts';
import { entityTerm, entityTerms } from '../../../rules/search-words.ts';
import { asked, awaited } from '../../../rules/steps.ts';
import type { EventState } from '../../../state.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import { postgresEngine } from '../../engine/postgres-engine.ts';
import type { Scene } from '../../engine/scene.ts';
import { toKey } from '../../sql/keys.ts';
import { joined, stateToActOn } from '../../sql/records.ts';
import { slotOf } from '../../sql/slots.ts';
import type { Tables } from '../../sql/tables.ts';
import { keepUnpruned } from '../acts/held-events.ts';
import { auditLines } from '../audit/audit-line.ts';
import type { EntityIndex } from './entity-index.ts';

interface BodiesRow {
  readonly body: Buffer | null;
  readonly bytes_beside: number;
}

/** What tells whether an event is about an entity, on the tables of a schema. */
function findings(session: Session, t: Tables, index: EntityIndex): Findings {
  async function erasable(seq: number): Promise<ErasableEvent | undefined> {
    const row = await session.row<ErasableEvent>(
      `SELECT events.seq, events.endpoint, events.id, events.type, events.entity, ${stateToActOn(t)} FROM ${joined(t)}
       WHERE events.seq = $1`,
      [seq],
    );
    if (row === undefined) return undefined;
    const { type, entity, state } = row;
    return {
      seq,
      endpoint: fromText(row.endpoint),
      id: fromText(row.id),
      type: type === null ? null : fromText(type),
      entity: entity === null ? null : fromText(entity),
      state,
    };
  }

  return {
    erasable: (seq) => asked(erasable(seq)),
    hasTerm: (event, term) => asked(index.hasTerm(session, event, term)),
    namesBeside(seq) {
      const body = session.row<{ body: Buffer }>(`SELECT body FROM ${t.conflicts} WHERE seq = $1`, [seq]);
      return asked(body.then((row) => index.namesIn(row?.body ?? null)));
    },
  };
}

/** Those of some events that are about an entity now. */
export async function aboutEntity(
  session: Session,
  t: Tables,
  index: EntityIndex,
  seqs: readonly number[],
  entity: string,
): Promise<readonly EventAbout[]> {
  const engine = findings(session, t, index);
  const events: EventAbout[] = [];
  for (const seq of seqs) {
    const event = await awaited(eventAbout(engine, seq, entity));
    if (event !== null) events.push(event);
  }
  return events;
}

/** What erasing asks for, in a transaction in which nobody moves or prunes these events. */
export async function erasures(scene: Scene, index: EntityIndex, seqs: readonly number[]): Promise<Erasures> {
  const { session, t, moves, locks } = scene;
  await locks.takeOfSeqs(seqs);
  await keepUnpruned(scene, '$1::bigint[]', [seqs]);
  await session.run(moves.shelveLost, [seqs]);
  const run = (text: string, values: readonly unknown[]) => asked(session.run(text, values).then(() => {}));
  const found = new Map<number, ErasableEvent>();

  async function forget(event: ErasableEvent, entity: string): Promise<void> {
    found.set(event.seq, event);
    const row = await session.row<{ body: Buffer | null }>(`SELECT body FROM ${t.events} WHERE seq = $1`, [event.seq]);
    // It may have been entered before a rerun gave it its entity.
    const terms = [entityTerm(entity), ...entityTerms(index.namesIn(row?.body ?? null))];
    await index.forget(session, event, terms);
  }

  async function erase(seq: number, state: EventState, hash: Uint8Array | null, now: number): Promise<void> {
    const { endpoint = '', id = '', state: before } = found.get(seq) ?? {};
    const settling =
      before === 'pending'
        ? session.run(moves.erasePending, [seq, state, now])
        : session.run(moves.eraseSettled, [seq]);
    await Promise.all([settling, session.run(moves.erase, [seq, hash, slotOf(endpoint, null, id), now])]);
  }

  async function emptyConflict(seq: number): Promise<number> {
    const row = await session.row<{ bytes: number }>(
      `SELECT octet_length(body) AS bytes FROM ${t.conflicts} WHERE seq = $1 FOR UPDATE`,
      [seq],
    );
    await session.run(`UPDATE ${t.conflicts} SET body = '' WHERE seq = $1`, [seq]);
    return row?.bytes ?? 0;
  }

  return {
    ...postgresEngine(scene),
    ...auditLines(scene),
    ...findings(session, t, index),
    forgetFoundBy: (event, entity) => asked(forget(event, entity)),
    bodies(seq) {
      const row = session.row<BodiesRow>(
        `SELECT body, coalesce((SELECT octet_length(body) FROM ${t.conflicts} WHERE seq = $1), 0) AS bytes_beside
         FROM ${t.events} WHERE seq = $1`,
        [seq],
      );
      return asked(row.then((read) => ({ body: read?.body ?? null, bytesBeside: read?.bytes_beside ?? 0 })));
    },
    erase: (seq, state, hash, now) => asked(erase(seq, state, hash, now)),
    eraseErrors: (seq, name) =>
      run(
        `UPDATE ${t.attempts} SET prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL,
           error_name = CASE WHEN error_name IS NOT NULL THEN $2 END
         WHERE seq = $1`,
        [seq, name],
      ),
    emptyConflict: (seq) => asked(emptyConflict(seq)),
    forgetHighWater: ({ entity, endpoint }) =>
      run(`DELETE FROM ${t.entities} WHERE entity = $1 AND endpoint = $2`, [toKey(entity), toText(endpoint)]),
  };
}
