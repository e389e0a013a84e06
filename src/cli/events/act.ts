import { ConfigurationError } from '../../errors.ts';
import { turn as nextTurn } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { EventKey } from '../../inbox/event.ts';
import { decideOnStored } from '../../inbox/rules/operator-acts.ts';
import {
  requestByFilter,
  requestByKey,
  decideAct,
  mayBeDone,
  searchedFor,
  summaryAt,
} from '../../inbox/rules/decide-act.ts';
import { BreakdownSums } from '../../inbox/rules/bulks.ts';
import { actingInWords, againInWords, forecast, handlingInWords } from '../../ops/bulk-forecast.ts';
import { heldUp, lanesOf, heldUpInWords } from '../../ops/pauses.ts';
import { type HeldUp } from '../../ops/pauses.ts';
import {
  cancelBulk,
  discardEvents,
  getBulk,
  getEvent,
  pauseBulk,
  previewBulk,
  rerunEvents,
  retryEventsNow,
  runBulk,
  type Act,
  type ActCounts,
  type ActReport,
  type ActResult,
  type Bulk,
  type EventFilter,
  type EventSummary,
} from '../../ops/index.ts';
import { ACT_WORDS, sentenceOf, stateInWords } from '../../ops/words/act-words.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { number, plural } from '../../ops/words/format.ts';
import { existingInbox } from '../shared/inbox.ts';
import { interruption, progressBar, underWay } from '../shared/interruption.ts';
import { commandText, present, shownInbox, tellUnknownTypes, type WideOptions } from '../shared/options.ts';
import {
  EXIT,
  print,
  printJson,
  printNdjson,
  styled,
  tell,
  tellFailure,
  usageError,
  type ExitCode,
} from '../shared/output.ts';
import { requireConsent, typedCount } from '../shared/secret.ts';
import { eventTable, idText } from './event-table.ts';
import { byOf, eventFilterOf, isEverything, type ByOptions, type FilterOptions, type InboxOptions } from './options.ts';
import { tellPaused } from './pause.ts';
import { foundEvent, pagesOf, searchedText } from './search.ts';

interface ActOnOptions extends InboxOptions, FilterOptions, ByOptions, WideOptions {
  readonly all?: boolean;
  readonly force?: boolean;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly resume?: number;
  readonly pause?: number;
  readonly cancel?: number;
}

interface Acting {
  readonly act: Act;
  readonly options: ActOnOptions;
  readonly inbox: Inbox;
  readonly signal: AbortSignal;
}

export async function actOn(act: Act, ids: readonly string[], options: ActOnOptions): Promise<ExitCode> {
  const { all = false, dryRun = false, force = false, resume, pause, cancel } = options;
  const id = resume ?? pause ?? cancel;
  const filter = eventFilterOf(options);
  // With event ids, these two select the events.
  const { endpoint: _, states: __, ...beyondNames } = filter;
  const isFiltered = all || !isEverything(ids.length > 0 ? beyondNames : filter);
  const modes = [ids.length > 0, isFiltered, ...[resume, pause, cancel].map((given) => given !== undefined)].filter(
    Boolean,
  ).length;
  if (modes === 0) {
    const example = act === 'retry-now' ? '--type order.created --since 2h' : '--state dead --since 2h';
    throw usageError(`Pass event ids, a filter such as ${example}, or --all.`);
  }
  if (modes > 1)
    throw usageError('Use only one of these: event ids; a filter (or --all); --resume; --pause; --cancel.');
  if (all && !isEverything(filter)) throw usageError('--all selects every event. Remove --all, or remove the filter.');
  if (id !== undefined && (dryRun || force)) {
    throw usageError('The preview already decided what this bulk action does. Remove --dry-run and --force.');
  }

  const signal = interruption();
  await using inbox = await existingInbox(options);
  const acting: Acting = { act, options, inbox, signal };
  if (pause !== undefined) return await paused(acting, pause);
  if (cancel !== undefined) return await cancelled(acting, cancel);
  if (resume !== undefined) return await resumed(acting, resume);
  return await (ids.length > 0 ? actOnIds(acting, ids) : actOnFound(acting, filter));
}

const MOST_AT_ONCE = 500;

async function actOnIds(acting: Acting, ids: readonly string[]): Promise<ExitCode> {
  const { act, options, inbox, signal } = acting;
  const { json = false, dryRun = false, force = false } = options;
  const events: EventSummary[] = [];
  /** events that a rerun needs --force for */
  const forceable = new Set<string>();
  let repeated = 0;
  for (const id of new Set(ids)) {
    const found = await foundEvent(inbox, id, options);
    if (found === null) continue;
    if (events.some(({ seq }) => seq === found.seq)) repeated += 1;
    else {
      events.push(found);
      if (mayBeDone(requestByKey(act, true), found)) forceable.add(id);
    }
  }

  let done = 0;
  let left = 0; // that --force would rerun
  for (let at = 0; at < events.length && !signal.aborted; at += MOST_AT_ONCE) {
    const keys = events.slice(at, at + MOST_AT_ONCE).map(({ endpoint, id }) => ({ endpoint, id }));
    for (const { key, result } of await (dryRun ? foreseen(acting, keys) : acted(acting, keys))) {
      const words = `${dryRun && result === 'done' ? 'would be ' : ''}${resultInWords(act, result)}`;
      if (json) printNdjson({ ...key, result });
      else print(`${styled(result === 'done' ? 'green' : 'yellow', words)}  ${idText(key)}`);
      if (result === 'done') done += 1;
      if (result === 'not needed' && forceable.has(key.id)) left += 1;
    }
    await nextTurn(); // Ctrl-C is handled only in a turn of the event loop
  }
  if (act !== 'discard' && !dryRun) tellPending(done);
  if (act !== 'discard' && done > 0) {
    const types = [...new Set(events.flatMap(({ type }) => type ?? []))];
    const endpoints = [...new Set(events.map(({ endpoint }) => endpoint))];
    tellHeldUp({ ...(await heldUp(inbox, { types, endpoints })), paused: [] });
    await tellPaused(inbox);
  }
  if (act === 'rerun' && left > 0 && !force) tell('To rerun processed events, add --force.');
  if (signal.aborted) return EXIT.interrupted;
  if (events.length === 0) return EXIT.notFound;
  if (done === 0) return EXIT.failed;
  return done === new Set(ids).size - repeated ? EXIT.ok : EXIT.partial;
}

async function acted(acting: Acting, keys: readonly EventKey[]): Promise<ActReport['results']> {
  const { act, options, inbox } = acting;
  const { force = false, state: states } = options;
  const by = byOf(options);
  const which = present({ states });
  try {
    const report = await {
      rerun: () => rerunEvents(inbox, keys, by, { force, ...which }),
      discard: () => discardEvents(inbox, keys, by, which),
      'retry-now': () => retryEventsNow(inbox, keys, by, which),
    }[act]();
    return report.results;
  } catch (failure) {
    // Their bodies may be too large for one transaction. In that case, nothing has changed.
    if (keys.length === 1 || !(failure instanceof ConfigurationError)) throw failure;
    const half = Math.ceil(keys.length / 2);
    return [...(await acted(acting, keys.slice(0, half))), ...(await acted(acting, keys.slice(half)))];
  }
}

async function foreseen({ act, options, inbox }: Acting, keys: readonly EventKey[]): Promise<ActReport['results']> {
  const requested = requestByKey(act, options.force ?? false, options.state);
  const results = [];
  for (const key of keys) {
    const history = act === 'retry-now' ? await getEvent(inbox, key) : null;
    const { result } =
      act === 'retry-now'
        ? decideAct(requested, history && summaryAt(history.summary, new Date()), null)
        : decideOnStored(requested, await inbox.get(key));
    results.push({ key, result });
  }
  return results;
}

async function actOnFound(acting: Acting, filter: EventFilter): Promise<ExitCode> {
  const { act, options, inbox, signal } = acting;
  const { dryRun = false, yes = false, json = false, force = false } = options;
  if (!dryRun) requireConsent(yes);
  const found = await foundForAct(inbox, act, filter, { force, enough: dryRun ? Infinity : 1, signal });
  if (signal.aborted) return EXIT.interrupted;
  if (found.total === 0) {
    tell(`${shownInbox(options)} has no matching event that can be ${ACT_WORDS[act].done}.`);
    if (act === 'rerun' && !force && filter.states === undefined && filter.ignoredSince === undefined)
      tell('To rerun ignored or discarded events, add --state ignored or --state discarded.');
    tellUnknownTypes(options.type);
    return EXIT.notFound;
  }
  if (dryRun) {
    if (json) printJson(found);
    else {
      print(sentenceOf({ ...found, state: 'previewed' }), '', 'The newest events:', '');
      eventTable(options)(found.first);
    }
    if (act !== 'discard') tellHeldUp(await heldUp(inbox, lanesOf(found)));
    return EXIT.ok;
  }
  const bulk = await preview(acting, filter);
  if (bulk === null) return EXIT.interrupted;
  let isAgreedTo = false;
  try {
    isAgreedTo = await isAgreed(acting, bulk);
  } finally {
    // No other process knows this preview, so no other process would run it.
    if (!isAgreedTo) await cancelBulk(inbox, bulk.id, byOf(options));
  }
  if (!isAgreedTo) return signal.aborted ? EXIT.interrupted : EXIT.failed;
  return run(acting, bulk);
}

interface FoundForAct extends Pick<Bulk, 'act' | 'filter' | 'force' | 'total' | 'breakdown'> {
  readonly first: readonly EventSummary[];
}

const SHOWN = 10;

/**
 * Leaves no entry in the list of bulk actions or in the audit.
 *
 * @param enough - the search ends after this many events
 */
export async function foundForAct(
  inbox: Inbox,
  act: Act,
  filter: EventFilter,
  { force, enough, signal }: { readonly force: boolean; readonly enough: number; readonly signal: AbortSignal },
): Promise<FoundForAct> {
  const requested = requestByFilter(act, force, filter);
  const first: EventSummary[] = [];
  const sums = new BreakdownSums();
  let total = 0;
  const now = new Date();
  using progress = progressBar();
  for await (const page of pagesOf(inbox, searchedFor(requested, filter), { signal, progress })) {
    const fitting = page.events.filter((event) => mayBeDone(requested, summaryAt(event, now)));
    for (const event of fitting) sums.add(event);
    total += fitting.length;
    first.push(...fitting.slice(0, SHOWN - first.length));
    if (total >= enough) break;
  }
  return { act, filter, force, total, breakdown: sums.toBreakdown(), first };
}

/** `null` after an interruption */
async function preview({ act, options, inbox, signal }: Acting, filter: EventFilter): Promise<Bulk | null> {
  using progress = progressBar();
  try {
    return await previewBulk(inbox, act, filter, byOf(options), {
      force: options.force ?? false,
      signal,
      onProgress: (examined, found) => progress.show(null, searchedText(examined, found)),
    });
  } catch (failure) {
    if (signal.aborted) return null;
    throw failure;
  }
}

async function isAgreed({ act, options, inbox, signal }: Acting, bulk: Bulk): Promise<boolean> {
  tell(sentenceOf(bulk));
  if (act !== 'discard') tellHeldUp(await heldUp(inbox, lanesOf(bulk)));
  const expected = await forecast(inbox, bulk);
  const sentences = [againInWords(bulk), actingInWords(expected), handlingInWords(expected)];
  for (const sentence of sentences) if (sentence !== null) tell(sentence);
  const todo = act === 'retry-now' ? 'retry them now' : `${act} them`;
  if (options.yes === true || (await typedCount(bulk.total, todo, signal))) return true;
  tell('Nothing changed.');
  return false;
}

async function resumed(acting: Acting, id: number): Promise<ExitCode> {
  const bulk = await knownBulk(acting, id);
  if (bulk === null) return EXIT.notFound;
  if (bulk.state === 'previewed') {
    requireConsent(acting.options.yes ?? false);
    if (!(await isAgreed(acting, bulk))) return acting.signal.aborted ? EXIT.interrupted : EXIT.failed;
  }
  return run(acting, bulk);
}

async function paused(acting: Acting, id: number): Promise<ExitCode> {
  if ((await knownBulk(acting, id)) === null) return EXIT.notFound;
  const { act, options, inbox } = acting;
  const bulk = await pauseBulk(inbox, id, byOf(options));
  if (options.json === true) printJson(bulk);
  if (bulk.state !== 'paused') {
    tell(`Bulk action ${id} is not running: ${stateInWords(bulk)}.`);
    return EXIT.failed;
  }
  tell(`Bulk action ${id} is ${stateInWords(bulk)}. To continue: ${resumeText(act, id, options)}`);
  return EXIT.ok;
}

async function cancelled(acting: Acting, id: number): Promise<ExitCode> {
  const before = await knownBulk(acting, id);
  if (before === null) return EXIT.notFound;
  const bulk = await cancelBulk(acting.inbox, id, byOf(acting.options));
  if (acting.options.json === true) printJson(bulk);
  if (before.endedAt !== null) {
    tell(`Bulk action ${id} has already ended: ${before.state}.`);
    return EXIT.failed;
  }
  tell(`Cancelled bulk action ${id} after ${number(bulk.worked)} of ${plural(bulk.total, 'event')}.`);
  return EXIT.ok;
}

async function knownBulk({ act, options, inbox }: Acting, id: number): Promise<Bulk | null> {
  const bulk = await getBulk(inbox, id);
  if (bulk === null) tell(noBulk(id, options));
  else if (bulk.act !== act) throw usageError(`Bulk action ${id} is a ${bulk.act}. Use hookbox events ${bulk.act}.`);
  return bulk;
}

export function noBulk(id: number, options: InboxOptions): string {
  return `${shownInbox(options)} has no bulk action ${id}. To list bulk actions, run hookbox events bulks.`;
}

async function run({ act, options, inbox, signal }: Acting, before: Bulk): Promise<ExitCode> {
  const { id } = before;
  let last = before;
  try {
    const bulk = await underWay(signal, (progress) =>
      runBulk(inbox, id, byOf(options), {
        ...(options.rate !== undefined && { ratePerSecond: options.rate }),
        signal,
        onProgress(now) {
          last = now;
          progress.show(now.worked / now.total, `${number(now.worked)} of ${number(now.total)}`);
        },
      }),
    );
    if (options.json === true) printJson(bulk);
    const exit = concluded(bulk, before, options, signal);
    // The bulk action is done, even if the inbox fails now.
    if (act !== 'discard') await tellPaused(inbox).catch(tellFailure);
    return exit;
  } catch (failure) {
    if (failure instanceof ConfigurationError) throw failure; // nothing was begun
    tell(stoppedText(last, options));
    tellFailure(failure);
    return (last.counts.done ?? 0) > 0 ? EXIT.partial : EXIT.failed;
  }
}

function concluded(bulk: Bulk, before: Bulk, options: ActOnOptions, signal: AbortSignal): ExitCode {
  const { id, act, state, total, worked, counts } = bulk;
  const { done = 0 } = counts;
  if (state === 'running') tell(stoppedText(bulk, options));
  if (state === 'paused')
    tell(`Bulk action ${id} is ${stateInWords(bulk)}. To continue: ${resumeText(act, id, options)}`);
  if (state === 'cancelled') tell(`Bulk action ${id} was cancelled after ${number(worked)} of ${number(total)}.`);
  const now = countsSince(before.counts, counts);
  if (worked > before.worked) tell(countsText(act, now));
  if (before.worked > 0) tell(`Total: ${countsText(act, counts)}`);
  if (act !== 'discard') tellPending(now.done ?? 0);
  if (act !== 'discard' && done > 0)
    tell(`To see the result later: ${commandText(options, 'hookbox events bulks', id)}`);
  if (signal.aborted && state !== 'done') return EXIT.interrupted;
  if (done === 0) return EXIT.failed;
  return done === total ? EXIT.ok : EXIT.partial;
}

function stoppedText({ id, act, worked, total }: Bulk, options: ActOnOptions): string {
  return `Stopped after ${number(worked)} of ${number(total)}. To continue: ${resumeText(act, id, options)}`;
}

export function resumeText(act: Act, id: number, options: InboxOptions): string {
  return commandText(options, 'hookbox events', act, '--resume', id);
}

function countsSince(before: ActCounts, counts: ActCounts): ActCounts {
  const since = resultsOf(counts).map(([result, count]) => [result, count - (before[result] ?? 0)] as const);
  return Object.fromEntries(since.filter(([, count]) => count !== 0));
}

function countsText(act: Act, counts: ActCounts): string {
  return resultsOf(counts)
    .map(([result, count]) => `${number(count)} ${resultInWords(act, result)}`)
    .join('; ');
}

export function resultsOf(counts: ActCounts): readonly (readonly [result: ActResult, count: number])[] {
  return Object.entries(counts) as [ActResult, number][];
}

function tellHeldUp(held: HeldUp): void {
  for (const sentence of heldUpInWords(held)) tell(sentence);
}

function tellPending(count: number): void {
  if (count === 0) return;
  const [are, them] = count === 1 ? ['is', 'it'] : ['are', 'them'];
  tell(`${plural(count, 'event')} ${are} pending; a processor with handlers will handle ${them}.`);
}
