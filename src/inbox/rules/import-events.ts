import { isFarAhead } from '../../events/far-ahead.ts';
import type { EventKey } from '../event.ts';
import type { ExportedEvent } from '../operator/export-format.ts';
import type { ImportCounts, ImportRecord } from '../operator/transfer.ts';
import { addToAuditLine, type AuditLines } from './audit-line.ts';
import type { Arrivals, Marks, StoredBody } from './engine.ts';
import type { Times } from './occurrences.ts';
import type { Steps } from './steps.ts';
import { isSameBody } from './tombstone.ts';

type Outcome = keyof ImportCounts;
type EventRecord = Extract<ImportRecord, { readonly event: ExportedEvent }>;

/** What an import looks for, whether it is to be done or only tried. */
export interface KnownBodies {
  /** What is kept of the body of an event; `undefined` where its key is not known. */
  bodyOfKey(key: EventKey): Steps<StoredBody | undefined>;
}

/** What an engine is asked for that takes in what another one has exported. */
export interface Imports extends KnownBodies, AuditLines, Pick<Arrivals, 'saveRedeliveries' | 'saveConflict'>, Marks {
  /** Stores an event whose key is not known, as it is; answers with its `seq`. */
  importEvent(event: ExportedEvent): Steps<number>;
  importAttempt(seq: number, attempt: ExportedEvent['attempts'][number]): Steps<void>;
  /** These have come behind those that are here, whenever they were received: searches by time must not skip them. */
  noteImported(firstSeq: number, lastSeq: number): Steps<void>;
}

/** What an import would come to. */
export function* tryImport(engine: KnownBodies, records: readonly ImportRecord[]): Steps<ImportCounts> {
  const counts = { imported: 0, known: 0, different: 0 };
  for (const record of records) if ('event' in record) counts[yield* outcomeOf(engine, record.event)] += 1;
  return counts;
}

/**
 * Takes in what was made of the lines of an export. What is here already stays as it is.
 *
 * @param audit - the line of the audit that counts it too
 */
export function* importEvents(
  engine: Imports,
  records: readonly ImportRecord[],
  audit: number | undefined,
): Steps<ImportCounts> {
  const counts = { imported: 0, known: 0, different: 0 };
  const stored: number[] = [];
  for (const record of records) {
    if ('mark' in record) {
      yield* engine.raiseHighWater(record.mark);
      continue;
    }
    const outcome = yield* outcomeOf(engine, record.event);
    counts[outcome] += 1;
    if (outcome === 'imported') stored.push(yield* importEvent(engine, record));
  }
  const [first] = stored;
  if (first !== undefined) yield* engine.noteImported(first, stored.at(-1) ?? first);
  if (audit !== undefined) yield* addToAuditLine(engine, audit, counts);
  return counts;
}

/** The first body wins here too, and other bytes are not even kept beside it. */
function* outcomeOf(engine: KnownBodies, { id, endpoint, body, sha256 }: ExportedEvent): Steps<Outcome> {
  const here = yield* engine.bodyOfKey({ id, endpoint });
  if (here === undefined) return 'imported';
  return isSameBody(here, { body, hash: sha256 }) ? 'known' : 'different';
}

/** With its history; answers with its `seq`. */
function* importEvent(engine: Imports, { event, raisesMark }: EventRecord): Steps<number> {
  const { endpoint, entity, created, attempts, redeliveries, conflict } = event;
  const seq = yield* engine.importEvent(event);
  for (const attempt of attempts) yield* engine.importAttempt(seq, attempt);
  if (redeliveries !== null) yield* engine.saveRedeliveries(seq, timesOf(redeliveries));
  if (conflict !== null) yield* engine.saveConflict(seq, timesOf(conflict), conflict.body);
  // As its settlement did where it was handled; of filtered events the export has no marks.
  const isBelieved = created !== null && !isFarAhead(created, event.settledMs ?? event.receivedMs);
  if (raisesMark && entity !== null && isBelieved) yield* engine.raiseHighWater({ endpoint, entity, created });
  return seq;
}

function timesOf({ count, firstMs, lastMs, recentMs }: NonNullable<ExportedEvent['redeliveries']>): Times {
  return { count, first: firstMs, last: lastMs, recent: recentMs };
}
