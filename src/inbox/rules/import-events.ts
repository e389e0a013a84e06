import { isFarAhead } from '../../events/instant.ts';
import type { EventKey } from '../event.ts';
import type { ExportedEvent, ExportedMark, ImportCounts, ImportRecord } from '../operator/transfer.ts';
import { type StoredBody, isSameBody } from './accept.ts';

export interface KnownBody extends EventKey, StoredBody {}

export interface ImportPlan {
  readonly counts: ImportCounts;
  readonly events: readonly ExportedEvent[];
  /** a mark that is older than the stored one changes nothing */
  readonly marks: readonly ExportedMark[];
}

/**
 * A stored event does not change: its first body wins, and the import keeps no other body beside it.
 *
 * @param known - the stored events among the records
 */
export function planImport(records: readonly ImportRecord[], known: readonly KnownBody[]): ImportPlan {
  const bodies = new Map<string, StoredBody>(known.map((event) => [nameOf(event), event]));
  const counts = { imported: 0, known: 0, different: 0 };
  const events: ExportedEvent[] = [];
  const marks: ExportedMark[] = [];
  for (const record of records) {
    if ('mark' in record) {
      marks.push(record.mark);
      continue;
    }
    const { event, raisesMark } = record;
    const given = { body: event.body, hash: event.sha256 };
    const stored = bodies.get(nameOf(event));
    if (stored !== undefined) {
      counts[isSameBody(stored, given) ? 'known' : 'different'] += 1;
      continue;
    }
    counts.imported += 1;
    events.push(event);
    bodies.set(nameOf(event), given);
    if (raisesMark) marks.push(...markOf(event));
  }
  return { counts, events, marks };
}

/** An export with a filter has no marks, so each processed event brings its own. */
function markOf({ endpoint, entity, created, settledMs, receivedMs }: ExportedEvent): readonly ExportedMark[] {
  if (entity === null || created === null || isFarAhead(created, settledMs ?? receivedMs)) return [];
  return [{ endpoint, entity, created }];
}

function nameOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}
