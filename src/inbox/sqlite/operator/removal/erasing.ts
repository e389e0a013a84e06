import { createHash } from 'node:crypto';
import { ConfigurationError } from '../../../../errors.ts';
import type { EraseOptions, EraseReport, Removal } from '../../../operator/removal.ts';
import { erasedState } from '../../../rules/erased-event.ts';
import type { EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../database.ts';
import { unparkNext } from '../../entity-queue.ts';
import type { Statements } from '../../statements.ts';
import { hashOf } from '../../../rules/tombstone.ts';
import { timeSlice } from '../../time-slice.ts';
import type { Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';
import { addAuditLine, addToAuditLine } from '../audit/audit-line.ts';
import { atCommit, authorOf } from '../audit/author.ts';
import { ErasedNames, hideInActs } from './erased-names.ts';
import { eventAbout, eventsAbout, type EventAbout } from './events-about.ts';
import { emptyLog, securely } from './secure-deletion.ts';
import { forgetTerms, idsIn } from '../search/search-words.ts';

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
        for (const event of page.events) if (event.whole) addNames(names, event, entity);
        examined += page.examined;
        onProgress?.({ step: 'looking', examined, found: found.length });
      }
      if (signal?.aborted === true && !dryRun) return { ...NOTHING, audit: null, logEmptied: false };
      if (dryRun) {
        const inProcessing = found.filter(isLeft).length;
        // Where nothing is left to erase, an earlier time may have left something in the log.
        const logEmptied = found.length === 0 && (await emptyLog(access));
        return { erased: found.length - inProcessing, inProcessing, audit: null, logEmptied };
      }

      const reason = author.reason === null ? null : names.hideIn(author.reason);
      const audit = await access.write(({ database }, waitedMs) => {
        const actor = { ...atCommit(author, waitedMs), reason };
        return addAuditLine(database, 'erase', actor, { entity: printOf(entity) }, NOTHING);
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

function isLeft({ whole, state }: EventAbout): boolean {
  return whole && erasedState(state) === null;
}

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
  readonly signal: AbortSignal | undefined;
  readonly onProgress: EraseOptions['onProgress'];
}

/** In as many transactions as their size asks for. */
async function eraseAll(access: Access, events: readonly EventAbout[], erasing: Erasing): Promise<typeof NOTHING> {
  const done = { ...NOTHING };
  const { signal, onProgress } = erasing;
  for (let at = 0; at < events.length;) {
    if (signal?.aborted === true) break;
    const rest = events.slice(at, at + BATCH_EVENTS);
    const batch = await access.write((statements, waitedMs) =>
      securely(statements.database, () => eraseSome(statements, rest, { ...erasing, now: erasing.now + waitedMs })),
    );
    at += batch.worked;
    done.erased += batch.erased;
    done.inProcessing += batch.inProcessing;
    onProgress?.({ step: 'erasing', worked: at, total: events.length });
  }
  return done;
}

function eraseSome(
  statements: Statements,
  events: readonly EventAbout[],
  { entity, audit, now }: Erasing,
): typeof NOTHING & { worked: number } {
  const { database, counts } = statements;
  const slice = timeSlice(0);
  const done = { ...NOTHING, worked: 0 };
  const fronts = new Map<string, EventAbout>();
  for (const { seq } of events) {
    done.worked += 1;
    const event = eventAbout(database, seq, entity);
    if (event === null) continue;
    // Where it is about another one, only the other body beside it goes.
    const state = event.whole ? erasedState(event.state) : event.state;
    if (state === null) {
      done.inProcessing += 1;
      continue;
    }
    const bytes = event.whole ? eraseEvent(statements, event, state, { entity, now }) : eraseConflict(database, seq);
    // What goes is overwritten, so it is written once more.
    slice.add(2 * bytes);
    done.erased += 1;
    if (state !== event.state) {
      counts.countType('discarded', event.type);
      fronts.set(JSON.stringify([event.endpoint, event.entity]), event);
    }
    if (slice.isOver()) break;
  }
  // Newer events of the same entity may have waited for these.
  for (const front of fronts.values()) unparkNext(statements, front, now);
  addToAuditLine(database, audit, { erased: done.erased, inProcessing: done.inProcessing });
  return done;
}

/** The body goes; that other bytes came, and when, stays. Returns how many bytes it had. */
function eraseConflict(database: SqliteDatabase, seq: number): number {
  const size = statement(database, 'SELECT length(body) AS bytes FROM hookbox_conflicts WHERE seq = ?').get(seq);
  statement(database, "UPDATE hookbox_conflicts SET body = x'' WHERE seq = ?").run(seq);
  return (size as { bytes: number }).bytes;
}

/** Returns how many bytes its bodies had. */
function eraseEvent(
  statements: Statements,
  event: EventAbout,
  state: EventState,
  { entity: name, now }: Pick<Erasing, 'entity' | 'now'>,
): number {
  const { database, moves } = statements;
  const { seq, entity, endpoint } = event;
  // While the row still says what they are; of a pruned one nothing but the index may know what it was found by.
  forgetTerms(database, event);
  statement(database, 'DELETE FROM hookbox_terms WHERE term = ? AND seq = ?').run(`entity ${name}`, seq);
  const row = statement(
    database,
    `SELECT body, (SELECT length(body) FROM hookbox_conflicts WHERE hookbox_conflicts.seq = hookbox_events.seq) AS other
     FROM hookbox_events WHERE seq = ?`,
  ).get(seq);
  const { body, other } = row as { body: Uint8Array | null; other: number | null };
  moves.erase.run({ seq, state, now, hash: body === null ? null : hashOf(body) });
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
