import { createHash } from 'node:crypto';
import { ConfigurationError } from '../../../../errors.ts';
import type { EraseReport, Removal } from '../../../operations/removal.ts';
import type { SqliteDatabase } from '../../database.ts';
import { unparkNext } from '../../entity-queue.ts';
import type { Statements } from '../../statements.ts';
import { hashOf } from '../../tombstone.ts';
import { statement, type Access } from '../access.ts';
import { addToAuditLine } from '../audit/audit-counts.ts';
import { addAuditLine, authorOf } from '../audit/audit-line.ts';
import { ErasedNames, hideInActs } from './erased-names.ts';
import { eventAbout, eventsAbout, type EventAbout } from './events-about.ts';
import { emptyLog, securely } from './secure-deletion.ts';
import { forgetTerms, idsIn } from '../search/terms.ts';

/** Deliveries share the commit: what is overwritten has to be written, and a body can have a mebibyte. */
const BATCH_EVENTS = 100;
const BATCH_MS = 10;
const BATCH_BYTES = 512 * 1024;

/** Removes what is kept about an entity. */
export function erasing(access: Access): Pick<Removal, 'erase'> {
  return {
    async erase(entity, by, dryRun): Promise<EraseReport> {
      if (typeof entity !== 'string' || entity === '') {
        throw new ConfigurationError('INVALID_OPTION', 'Say which entity is to be erased.');
      }
      const author = authorOf(by);
      const names = new ErasedNames();
      names.addEntity(entity);
      const found: EventAbout[] = [];
      for await (const event of eventsAbout(access, entity)) {
        found.push(event);
        addNames(names, event, entity);
      }
      if (dryRun) {
        const inProcessing = found.filter(({ state }) => state === 'processing').length;
        return { erased: found.length - inProcessing, inProcessing, audit: null, logEmptied: false };
      }

      const reason = author.reason === null ? null : names.hideIn(author.reason);
      const audit = await access.write((database) =>
        addAuditLine(database, 'erase', { ...author, reason }, { entity: printOf(entity) }, NOTHING),
      );
      // Before the events go: whoever goes on after a crash could not tell any more which ids to hide.
      const hiddenUpTo = await hideInActs(access, names);
      const done = await eraseAll(access, found, { entity, audit, now: author.now });
      await access.write((database) =>
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

/** What tells later whether a request was followed, without saying whose it was. */
function printOf(entity: string): string {
  return `sha256:${createHash('sha256').update(entity).digest('hex').slice(0, 16)}`;
}

function addNames(names: ErasedNames, { id, entity: name }: EventAbout, entity: string): void {
  names.addId(id);
  if (name === null) return;
  names.addEntity(name);
  // An order's or a cart's id is a name for it; a product's is one for all of its locations, too.
  const [only, ...others] = idsIn(name);
  if (only !== undefined && others.length === 0 && (name === entity || only === entity)) names.addEntity(only);
}

interface Erasing {
  readonly entity: string;
  readonly audit: number;
  readonly now: number;
}

/** In as many transactions as their size asks for. */
async function eraseAll(access: Access, events: readonly EventAbout[], erasing: Erasing): Promise<typeof NOTHING> {
  const done = { ...NOTHING };
  for (let at = 0; at < events.length;) {
    const rest = events.slice(at, at + BATCH_EVENTS);
    const batch = await access.write((database, statements) =>
      securely(database, () => eraseSome(database, statements, rest, erasing)),
    );
    at += batch.worked;
    done.erased += batch.erased;
    done.inProcessing += batch.inProcessing;
  }
  return done;
}

function eraseSome(
  database: SqliteDatabase,
  statements: Statements,
  events: readonly EventAbout[],
  { entity, audit, now }: Erasing,
): typeof NOTHING & { worked: number } {
  const startedAt = performance.now();
  const done = { ...NOTHING, worked: 0 };
  const fronts = new Map<string, EventAbout>();
  let bytes = 0;
  for (const { seq } of events) {
    done.worked += 1;
    const event = eventAbout(database, seq, entity);
    if (event?.state === 'processing') done.inProcessing += 1;
    if (event === null || event.state === 'processing') continue;
    bytes += eraseEvent(database, event, now);
    done.erased += 1;
    if (event.state === 'pending') {
      statements.tally.countType('discarded', event.type);
      fronts.set(JSON.stringify([event.endpoint, event.entity]), event);
    }
    if (bytes > BATCH_BYTES || performance.now() - startedAt > BATCH_MS) break;
  }
  // Events of an entity that somebody named otherwise may have waited for these.
  for (const front of fronts.values()) unparkNext(statements.work, front, now);
  addToAuditLine(database, audit, { erased: done.erased, inProcessing: done.inProcessing });
  return done;
}

/** Returns how many bytes its bodies had. */
function eraseEvent(database: SqliteDatabase, event: EventAbout, now: number): number {
  const { seq, entity, endpoint } = event;
  // While the row still says what they are.
  forgetTerms(database, event);
  const row = statement(
    database,
    `SELECT body, (SELECT length(body) FROM hookbox_conflicts WHERE hookbox_conflicts.seq = hookbox_events.seq) AS other
     FROM hookbox_events WHERE seq = ?`,
  ).get(seq);
  const { body, other } = row as { body: Uint8Array | null; other: number | null };
  statement(
    database,
    `UPDATE hookbox_events
     SET state = CASE state WHEN 'pending' THEN 'ignored' ELSE state END, settled_ms = coalesce(settled_ms, :now),
         parked = 0, trigger = 'auto', body = NULL, body_sha256 = coalesce(:hash, body_sha256),
         entity = NULL, fingerprint = NULL, erased_ms = :now
     WHERE seq = :seq`,
  ).run({ seq, now, hash: body === null ? null : hashOf(body) });
  // That an attempt has failed stays known.
  statement(
    database,
    `UPDATE hookbox_attempts SET error_name = 'Erased', error_message = NULL, error_stack = NULL
     WHERE seq = ? AND error_name IS NOT NULL`,
  ).run(seq);
  statement(database, 'DELETE FROM hookbox_conflicts WHERE seq = ?').run(seq);
  if (entity !== null) {
    statement(database, 'DELETE FROM hookbox_entities WHERE entity = ? AND endpoint = ?').run(entity, endpoint);
  }
  return (body?.byteLength ?? 0) + (other ?? 0);
}
