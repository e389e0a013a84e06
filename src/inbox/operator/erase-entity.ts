import { turn } from '../../host/real-timers.ts';
import { ConfigurationError } from '../../errors.ts';
import { planErase, printOf, type Erased, type EventAbout } from '../rules/erase-events.ts';
import { ErasedNames } from '../rules/erased-names.ts';
import { entityTerm } from '../rules/search-words.ts';
import type { By } from './acts.ts';
import { auditLine } from './audit.ts';
import { authorOf, type Author } from './author.ts';
import { hideInActs } from './hide-in-acts.ts';
import type { EraseOptions, EraseReport, Removal } from './removal.ts';
import type { OperatorTables, Statement } from './sql.ts';

const PAGE = 100;
/** The bodies of these are parsed, and each may have a mebibyte. */
const CONFLICTS = 2;
const BATCH_EVENTS = 100;

/** What each engine does itself of erasing. */
export interface ErasingEngine {
  /** Whether an action that is noted later has a higher number. */
  readonly notesInOrder: boolean;
  /** Those of some events that are about an entity now. */
  about(seqs: readonly number[], entity: string): Promise<readonly EventAbout[]>;
  /** Erases some in one transaction; in another what it has not come to. */
  eraseSome(events: readonly EventAbout[], erasing: Erasing): Promise<Erased & { readonly worked: number }>;
  /** As `EraseReport` says of it. */
  emptyLog(): Promise<boolean | null>;
}

export interface Erasing {
  readonly entity: string;
  /** the line of the audit that counts it too */
  readonly audit: number;
  readonly author: Author;
}

const NOTHING = { erased: 0, inProcessing: 0 };

/** Removes what is kept about an entity. */
export function erasing(tables: OperatorTables, engine: ErasingEngine): Pick<Removal, 'erase'> {
  return { erase: (entity, by, options) => eraseEntity({ tables, engine }, entity, by, options) };
}

interface Place {
  readonly tables: OperatorTables;
  readonly engine: ErasingEngine;
}

async function eraseEntity(place: Place, entity: string, by: By, options: EraseOptions): Promise<EraseReport> {
  const { tables, engine } = place;
  const { dryRun = false, signal, onProgress } = options;
  if (typeof entity !== 'string' || entity === '') {
    throw new ConfigurationError(
      'INVALID_OPTION',
      'entity must be the name of the entity to erase, such as order:mer_7:ord_42.',
    );
  }
  const author = authorOf(by);
  const names = new ErasedNames();
  names.addEntity(entity);
  const found: EventAbout[] = [];
  let examined = 0;
  for await (const page of eventsAbout(place, entity)) {
    if (signal?.aborted === true) break;
    found.push(...page.events);
    for (const event of page.events) if (event.whole) names.addNamesOf(event, entity);
    examined += page.examined;
    onProgress?.({ step: 'looking', examined, found: found.length });
  }
  if (signal?.aborted === true && !dryRun) return { ...NOTHING, audit: null, logEmptied: false };
  if (dryRun) {
    // Where nothing is left to erase, an earlier time may have left something in the log.
    const logEmptied = found.length === 0 && (await engine.emptyLog());
    const { erased, inProcessing } = planErase(found);
    return { erased, inProcessing, audit: null, logEmptied };
  }

  const audit = await begin(tables, { ...author, reason: names.hideInReason(author.reason) }, entity);
  // Before the events go: whoever goes on after a crash could not tell any more which ids to hide.
  const hiddenUpTo = await hideInActs(tables, names);
  const done = await eraseAll(engine, found, { entity, audit, author }, options);
  await forgetEntity(tables, entity);
  // And what was done to them meanwhile.
  await hideInActs(tables, names, engine.notesInOrder ? hiddenUpTo : []);
  tables.notify();
  return { ...done, audit, logEmptied: await engine.emptyLog() };
}

/** Answers with the line of the audit. */
async function begin(tables: OperatorTables, author: Author, entity: string): Promise<number> {
  return tables.change({
    plan(_, { toDatabase }) {
      const by = { ...author, now: toDatabase(author.now) };
      return {
        save: [auditLine(tables.dialect, 'erase', by, { entity: printOf(entity) }, NOTHING)],
        result: ([rows = []]) => (rows[0] as { seq: number }).seq,
      };
    },
  });
}

/** Forgets which events of the entity were processed last. */
async function forgetEntity(tables: OperatorTables, entity: string): Promise<void> {
  const { t, toKey } = tables.dialect;
  const save = [{ text: `DELETE FROM ${t.entities} WHERE entity = $1`, values: [toKey(entity)] }];
  await tables.change({ isRepeatable: true, plan: () => ({ save, result: () => {} }) });
}

/** What one look has come to. */
interface PageAbout {
  readonly events: readonly EventAbout[];
  /** how many events were looked at for it */
  readonly examined: number;
}

/**
 * The events about an entity: those that the index knows to be about it, and those under whose id another body is kept
 * that is. Conflicts are few, and no index knows what their bodies say.
 */
async function* eventsAbout(place: Place, entity: string): AsyncGenerator<PageAbout, void> {
  const { t, toKey } = place.tables.dialect;
  const withTerm = `SELECT seq FROM ${t.terms} WHERE seq > $1 AND term = $2 ORDER BY seq LIMIT ${PAGE}`;
  const withConflict = `SELECT seq FROM ${t.conflicts} WHERE seq > $1 ORDER BY seq LIMIT ${CONFLICTS}`;
  yield* pagesOf(place, entity, true, (behind) => ({ text: withTerm, values: [behind, toKey(entityTerm(entity))] }));
  yield* pagesOf(place, entity, false, (behind) => ({ text: withConflict, values: [behind] }));
}

async function* pagesOf(
  { tables, engine }: Place,
  entity: string,
  whole: boolean,
  next: (behind: number) => Statement,
): AsyncGenerator<PageAbout, void> {
  for (let seen: number | undefined = 0; seen !== undefined;) {
    const asked = next(seen);
    const seqs = (await tables.read(({ rows }) => rows<{ seq: number }>(asked))).map(({ seq }) => seq);
    if (seqs.length > 0) {
      const events = await engine.about(seqs, entity);
      yield { events: events.filter((event) => event.whole === whole), examined: seqs.length };
    }
    seen = seqs.at(-1);
    await turn();
  }
}

/** In as many transactions as their size asks for. */
async function eraseAll(
  engine: ErasingEngine,
  events: readonly EventAbout[],
  erasing: Erasing,
  { signal, onProgress }: EraseOptions,
): Promise<Erased> {
  const done = { ...NOTHING };
  for (let at = 0; at < events.length;) {
    if (signal?.aborted === true) break;
    const batch = await engine.eraseSome(events.slice(at, at + BATCH_EVENTS), erasing);
    at += batch.worked;
    done.erased += batch.erased;
    done.inProcessing += batch.inProcessing;
    onProgress?.({ step: 'erasing', worked: at, total: events.length });
  }
  return done;
}
