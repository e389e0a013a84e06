import { turn } from '../../host/real-timers.ts';
import { ConfigurationError } from '../../errors.ts';
import type { Author } from '../operator/author.ts';
import { planErase, printOf, type Erased, type EventAbout } from '../rules/erase-events.ts';
import { ErasedNames } from '../rules/erased-names.ts';
import { entityTerm, type Term } from '../rules/search-words.ts';
import type { By } from './acts.ts';
import { authorOf } from './author.ts';
import { hideInActs, type KeptActs } from './hide-in-acts.ts';
import type { EraseOptions, EraseReport } from './removal.ts';

const PAGE = 100;
/** The bodies of these are parsed, and each may have a mebibyte. */
const CONFLICTS = 2;
const BATCH_EVENTS = 100;

/** Where what is kept about an entity is removed. */
export interface ErasingStore {
  /** Events that the index finds by a term, behind one of them and in their order. */
  withTerm(term: Term, behind: number, limit: number): readonly number[] | Promise<readonly number[]>;
  /** Events beside which another body is kept. */
  withConflict(behind: number, limit: number): readonly number[] | Promise<readonly number[]>;
  /** Those of some events that are about an entity now. */
  about(seqs: readonly number[], entity: string): readonly EventAbout[] | Promise<readonly EventAbout[]>;
  /** Answers with the line of the audit. */
  begin(author: Author, about: unknown, counts: typeof NOTHING): Promise<number>;
  /** Erases some in one transaction; in another what it has not come to. */
  eraseSome(events: readonly EventAbout[], erasing: Erasing): Promise<Erased & { readonly worked: number }>;
  /** Forgets which events of the entity were processed last. */
  forgetEntity(entity: string): Promise<void>;
  readonly acts: KeptActs;
  /** As `EraseReport` says of it. */
  emptyLog(): Promise<boolean | null>;
  notify(): void;
}

export interface Erasing {
  readonly entity: string;
  /** the line of the audit that counts it too */
  readonly audit: number;
  readonly author: Author;
}

const NOTHING = { erased: 0, inProcessing: 0 };

/** Removes what is kept about an entity. */
export async function eraseEntity(
  store: ErasingStore,
  entity: string,
  by: By,
  options: EraseOptions,
): Promise<EraseReport> {
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
  for await (const page of eventsAbout(store, entity)) {
    if (signal?.aborted === true) break;
    found.push(...page.events);
    for (const event of page.events) if (event.whole) names.addNamesOf(event, entity);
    examined += page.examined;
    onProgress?.({ step: 'looking', examined, found: found.length });
  }
  if (signal?.aborted === true && !dryRun) return { ...NOTHING, audit: null, logEmptied: false };
  if (dryRun) {
    // Where nothing is left to erase, an earlier time may have left something in the log.
    const logEmptied = found.length === 0 && (await store.emptyLog());
    const { erased, inProcessing } = planErase(found);
    return { erased, inProcessing, audit: null, logEmptied };
  }

  const reason = names.hideInReason(author.reason);
  const audit = await store.begin({ ...author, reason }, { entity: printOf(entity) }, NOTHING);
  // Before the events go: whoever goes on after a crash could not tell any more which ids to hide.
  const hiddenUpTo = await hideInActs(store.acts, names);
  const done = await eraseAll(store, found, { entity, audit, author }, options);
  await store.forgetEntity(entity);
  // And what was done to them meanwhile.
  await hideInActs(store.acts, names, hiddenUpTo);
  store.notify();
  return { ...done, audit, logEmptied: await store.emptyLog() };
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
async function* eventsAbout(store: ErasingStore, entity: string): AsyncGenerator<PageAbout, void> {
  const term = entityTerm(entity);
  yield* pagesOf(store, entity, true, (behind) => store.withTerm(term, behind, PAGE));
  yield* pagesOf(store, entity, false, (behind) => store.withConflict(behind, CONFLICTS));
}

async function* pagesOf(
  store: ErasingStore,
  entity: string,
  whole: boolean,
  next: (behind: number) => readonly number[] | Promise<readonly number[]>,
): AsyncGenerator<PageAbout, void> {
  for (let seen: number | undefined = 0; seen !== undefined;) {
    const seqs = await next(seen);
    if (seqs.length > 0) {
      const events = await store.about(seqs, entity);
      yield { events: events.filter((event) => event.whole === whole), examined: seqs.length };
    }
    seen = seqs.at(-1);
    await turn();
  }
}

/** In as many transactions as their size asks for. */
async function eraseAll(
  store: ErasingStore,
  events: readonly EventAbout[],
  erasing: Erasing,
  { signal, onProgress }: EraseOptions,
): Promise<Erased> {
  const done = { ...NOTHING };
  for (let at = 0; at < events.length;) {
    if (signal?.aborted === true) break;
    const batch = await store.eraseSome(events.slice(at, at + BATCH_EVENTS), erasing);
    at += batch.worked;
    done.erased += batch.erased;
    done.inProcessing += batch.inProcessing;
    onProgress?.({ step: 'erasing', worked: at, total: events.length });
  }
  return done;
}
