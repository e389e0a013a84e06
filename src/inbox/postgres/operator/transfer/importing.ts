import type { EventKey } from '../../../event.ts';
import type { ExportedEvent } from '../../../operator/export-format.ts';
import { inTime } from '../../../operator/imported-event.ts';
import type { ImportRecord, Transfer } from '../../../operator/transfer.ts';
import type { StoredBody } from '../../../rules/engine.ts';
import { importEvents, tryImport, type KnownBodies } from '../../../rules/import-events.ts';
import { answer, awaited } from '../../../rules/steps.ts';
import { hashOf } from '../../../rules/tombstone.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { doneOnce } from '../done-once.ts';
import { importEngine } from './import-engine.ts';

const NO_LEASES = { ordered: false, exclusive: false } as const;

/** Notes that events have come in behind those that are there, whenever they were received. */
export type NoteImported = (session: Session, t: Tables, firstSeq: number, lastSeq: number) => Promise<void>;

export function importing({ store, ask, notify }: Access, noteImported: NoteImported): Pick<Transfer, 'importSome'> {
  const { database, t, time, scene, writeAt } = store;
  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) {
        return ask(() =>
          database.read(async (session) => awaited(tryImport(await knownBodies(session, t, records), records))),
        );
      }
      const counts = await ask(() =>
        doneOnce(store, {
          before: (session) => writeAt(session, Date.now()),
          async work(session) {
            const place = scene(session, NO_LEASES);
            const known = await knownBodies(session, t, records);
            const engine = importEngine(place, known, noteImported);
            const now = time.toDatabase(Date.now());
            const here = records.map((record) =>
              'event' in record ? { ...record, event: inTime(record.event, now) } : record,
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

export interface NotedBodies extends KnownBodies {
  /** It is stored from now on. */
  note(event: ExportedEvent): void;
}

/** What is there under the keys of some lines; a body by its hash, as large ones need not come here for that. */
async function knownBodies(session: Session, t: Tables, records: readonly ImportRecord[]): Promise<NotedBodies> {
  const keys = records.flatMap((record) => ('event' in record ? [record.event] : []));
  const rows = await session.rows<EventKey & { readonly hash: Buffer }>(
    `SELECT events.endpoint, events.id, coalesce(events.body_sha256, sha256(events.body)) AS hash
     FROM unnest($1::text[], $2::text[]) AS given (id, endpoint)
       CROSS JOIN ${rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint')}`,
    [keys.map(({ id }) => toText(id)), keys.map(({ endpoint }) => toText(endpoint))],
  );
  const nameOf = ({ endpoint, id }: EventKey): string => JSON.stringify([endpoint, id]);
  const known = new Map<string, StoredBody>();
  for (const { endpoint, id, hash } of rows) {
    known.set(nameOf({ endpoint: fromText(endpoint), id: fromText(id) }), { body: null, hash });
  }
  return {
    bodyOfKey: (key) => answer(known.get(nameOf(key))),
    note: (event) =>
      void known.set(nameOf(event), { body: null, hash: event.body === null ? event.sha256 : hashOf(event.body) }),
  };
}
