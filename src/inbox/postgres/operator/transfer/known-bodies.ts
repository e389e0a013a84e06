import type { EventKey } from '../../../event.ts';
import type { ExportedEvent } from '../../../operator/export-format.ts';
import type { ImportRecord } from '../../../operator/transfer.ts';
import type { StoredBody } from '../../../rules/engine.ts';
import type { KnownBodies } from '../../../rules/import-events.ts';
import { answer } from '../../../rules/steps.ts';
import { hashOf } from '../../../rules/tombstone.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

export interface NotedBodies extends KnownBodies {
  /** It is stored from now on. */
  note(event: ExportedEvent): void;
}

/** What is there under the keys of some lines; a body by its hash, as large ones need not come here for that. */
export async function knownBodies(session: Session, t: Tables, records: readonly ImportRecord[]): Promise<NotedBodies> {
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
