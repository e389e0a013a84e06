import { setImmediate as nextTurn } from 'node:timers/promises';
import { ConfigurationError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { EventKey } from '../../inbox/event.ts';
import { decideOnStored } from '../../inbox/rules/body-today.ts';
import { askedByKey, mayBeDone } from '../../inbox/rules/operator-acts.ts';
import {
  cancelBulk,
  discardEvents,
  getBulk,
  previewBulk,
  rerunEvents,
  runBulk,
  type Act,
  type ActReport,
  type ActResult,
  type Bulk,
  type EventFilter,
} from '../../ops/index.ts';
import { inboxOptions } from '../../host/shell-words.ts';
import { sentenceOf } from '../../ops/words/bulk-words.ts';
import { number, plural } from '../../ops/words/format.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { requireConsent, typedCount } from './confirm.ts';
import { neededInbox, shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { print, printJson, printNdjson, styled, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { tellFailure } from '../shared/tell-failure.ts';
import { tellUnknownTypes } from '../shared/unknown-types.ts';
import type { ActOnOptions } from './act-options.ts';
import { eventFilterOf, isEverything } from './filter-from-options.ts';
import { concludeBulk, printFound, stoppedText, tellPending } from './bulk-report.ts';
import { byOf } from './by.ts';
import { foundEvent } from './found-event.ts';
import { foundForAct } from './found-for-act.ts';
import { idText } from './event-texts.ts';
import { underWay } from '../shared/interruptible.ts';

/** What one transaction takes. */
const MOST_AT_ONCE = 500;

/** Reruns or discards the events that the arguments mean, and resolves with how to exit. */
export async function actOn(act: Act, ids: readonly string[], options: ActOnOptions): Promise<ExitCode> {
  const { all = false, dryRun = false, force = false } = options;
  const filter = eventFilterOf(options);
  const { endpoint: _, ...beyondEndpoint } = filter;
  const bulk = options.resume ?? options.cancel;
  const ways = [
    ids.length > 0,
    all || !isEverything(ids.length > 0 ? beyondEndpoint : filter),
    options.resume !== undefined,
    options.cancel !== undefined,
  ].filter(Boolean).length;
  if (ways === 0) {
    throw usageError(`Say what to ${act}: event ids, a filter such as --state dead --since 2h, or --all.`);
  }
  if (ways > 1) throw usageError('Give event ids, or a filter, or --resume, or --cancel: only one of them.');
  if (all && !isEverything(filter)) throw usageError('--all means every event. Leave it out where there is a filter.');
  if (bulk !== undefined && (dryRun || force)) {
    throw usageError('What a bulk act does was settled by its preview. Leave --dry-run and --force out.');
  }

  const signal = interruption();
  await using inbox = await existingInbox(options);
  if (options.cancel !== undefined) return await cancel(inbox, act, options.cancel, options);
  if (options.resume !== undefined) return await resume(inbox, act, options.resume, options, signal);
  if (ids.length > 0) return await actOnIds(inbox, act, ids, options, signal);
  return await actOnFound(inbox, act, filter, options, signal);
}

/** Acts on events that are named, and prints what became of each. */
async function actOnIds(
  inbox: Inbox,
  act: Act,
  ids: readonly string[],
  options: ActOnOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { json = false, dryRun = false } = options;
  const keys: EventKey[] = [];
  /** those that a rerun leaves alone unless it is forced */
  const forceable = new Set<string>();
  const forced = askedByKey(act, true);
  for (const id of new Set(ids)) {
    const found = await foundEvent(inbox, id, options);
    if (found === null) continue;
    keys.push({ endpoint: found.endpoint, id });
    if (mayBeDone(forced, found)) forceable.add(id);
  }

  let done = 0;
  let left = 0; // that --force would take
  for (let at = 0; at < keys.length && !signal.aborted; at += MOST_AT_ONCE) {
    const some = keys.slice(at, at + MOST_AT_ONCE);
    const results = dryRun ? await foreseen(inbox, act, some, options) : await acted(inbox, act, some, options);
    for (const { key, result } of results) {
      if (json) printNdjson({ ...key, result });
      else print(`${styled(result === 'done' ? 'green' : 'yellow', worded(act, result, dryRun))}  ${idText(key)}`);
      if (result === 'done') done += 1;
      if (result === 'not needed' && forceable.has(key.id)) left += 1;
    }
    await nextTurn(); // or Ctrl-C would never be heard
  }
  if (act === 'rerun' && !dryRun) tellPending(done);
  if (act === 'rerun' && left > 0 && options.force !== true) tell('Add --force to rerun processed events, too.');
  if (signal.aborted) return EXIT.interrupted;
  if (keys.length === 0) return EXIT.notFound;
  if (done === 0) return EXIT.failed;
  return done === new Set(ids).size ? EXIT.ok : EXIT.partial;
}

function worded(act: Act, result: ActResult, dryRun: boolean): string {
  return dryRun && result === 'done' ? `would be ${resultInWords(act, result)}` : resultInWords(act, result);
}

async function acted(
  inbox: Inbox,
  act: Act,
  keys: readonly EventKey[],
  options: ActOnOptions,
): Promise<ActReport['results']> {
  const by = byOf(options);
  try {
    const report =
      act === 'rerun'
        ? await rerunEvents(inbox, keys, by, { force: options.force ?? false })
        : await discardEvents(inbox, keys, by);
    return report.results;
  } catch (failure) {
    // Their bodies may be too much for one transaction. Nothing has happened then.
    if (keys.length === 1 || !(failure instanceof ConfigurationError)) throw failure;
    const half = Math.ceil(keys.length / 2);
    return [
      ...(await acted(inbox, act, keys.slice(0, half), options)),
      ...(await acted(inbox, act, keys.slice(half), options)),
    ];
  }
}

/** What would become of events. */
async function foreseen(
  inbox: Inbox,
  act: Act,
  keys: readonly EventKey[],
  { force = false }: ActOnOptions,
): Promise<ActReport['results']> {
  const asked = askedByKey(act, force);
  const results = [];
  for (const key of keys) {
    const event = await inbox.get(key);
    results.push({ key, result: decideOnStored(asked, event).result });
  }
  return results;
}

/** Shows what a filter finds, and once somebody has agreed acts on exactly that. */
async function actOnFound(
  inbox: Inbox,
  act: Act,
  filter: EventFilter,
  options: ActOnOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { dryRun = false, yes = false, json = false, force = false } = options;
  if (!dryRun) requireConsent(yes);
  const found = await foundForAct(inbox, act, filter, { force, enough: dryRun ? Infinity : 1, signal });
  if (signal.aborted) return EXIT.interrupted;
  if (found.total === 0) {
    tell(`Nothing in ${shownInbox(options)} fits that ${act === 'rerun' ? 'could be rerun' : 'could be discarded'}.`);
    if (act === 'rerun' && !force && filter.states === undefined && filter.ignoredSince === undefined)
      tell('Ignored events need --state ignored.');
    tellUnknownTypes(options.type);
    return EXIT.notFound;
  }
  if (dryRun) {
    if (json) printJson(found);
    else printFound(found, options);
    return EXIT.ok;
  }
  const bulk = await preview(inbox, act, filter, options, signal);
  if (bulk === null) return EXIT.interrupted;
  let isAgreedTo = false;
  try {
    isAgreedTo = await isAgreed(bulk, yes, signal);
  } finally {
    // Nobody else knows of this preview, so nobody else would run it.
    if (!isAgreedTo) await cancelBulk(inbox, bulk.id, byOf(options));
  }
  if (!isAgreedTo) return signal.aborted ? EXIT.interrupted : EXIT.failed;
  return run(inbox, bulk, options, signal);
}

/** `null` when it was interrupted: nothing is left of it then. */
async function preview(
  inbox: Inbox,
  act: Act,
  filter: EventFilter,
  options: ActOnOptions,
  signal: AbortSignal,
): Promise<Bulk | null> {
  const progress = progressBar();
  try {
    return await previewBulk(inbox, act, filter, byOf(options), {
      force: options.force ?? false,
      signal,
      onProgress: (examined, found) =>
        progress.show(null, `${plural(examined, 'event')} looked at, ${number(found)} found`),
    });
  } catch (failure) {
    if (signal.aborted) return null;
    throw failure;
  } finally {
    progress.end();
  }
}

/** Shows the preview, and has the count typed unless that was agreed beforehand. */
async function isAgreed(bulk: Bulk, yes: boolean, signal: AbortSignal): Promise<boolean> {
  tell(sentenceOf(bulk));
  if (yes || (await typedCount(bulk.total, `${bulk.act} them`, signal))) return true;
  tell('Nothing was done.');
  return false;
}

/** Goes on with a bulk act that was stopped, or runs one that was previewed on the page. */
async function resume(
  inbox: Inbox,
  act: Act,
  id: number,
  options: ActOnOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const bulk = await knownBulk(inbox, act, id, options);
  if (bulk === null) return EXIT.notFound;
  const { yes = false } = options;
  if (bulk.state === 'previewed') {
    requireConsent(yes);
    if (!(await isAgreed(bulk, yes, signal))) return signal.aborted ? EXIT.interrupted : EXIT.failed;
  }
  return run(inbox, bulk, options, signal);
}

/** Ends a bulk act for good. */
async function cancel(inbox: Inbox, act: Act, id: number, options: ActOnOptions): Promise<ExitCode> {
  const before = await knownBulk(inbox, act, id, options);
  if (before === null) return EXIT.notFound;
  const bulk = await cancelBulk(inbox, id, byOf(options));
  if (options.json === true) printJson(bulk);
  if (before.endedAt !== null) {
    tell(`Bulk ${id} has ended already: ${before.state}.`);
    return EXIT.failed;
  }
  tell(`Cancelled bulk ${id} after ${number(bulk.worked)} of ${plural(bulk.total, 'event')}.`);
  return EXIT.ok;
}

async function knownBulk(inbox: Inbox, act: Act, id: number, options: ActOnOptions): Promise<Bulk | null> {
  const bulk = await getBulk(inbox, id);
  if (bulk === null) tell(`There is no bulk act ${id} in ${shownInbox(options)}. hookbox events bulks lists them.`);
  else if (bulk.act !== act) throw usageError(`Bulk ${id} is to ${bulk.act}: use hookbox events ${bulk.act}.`);
  return bulk;
}

async function run(inbox: Inbox, before: Bulk, options: ActOnOptions, signal: AbortSignal): Promise<ExitCode> {
  const { id, act } = before;
  const goOn = ['hookbox events', act, '--resume', id, ...inboxOptions(neededInbox(options))].join(' ');
  const progress = progressBar();
  let heard = before;
  try {
    const bulk = await underWay(signal, progress, () =>
      runBulk(inbox, id, byOf(options), {
        ...(options.rate !== undefined && { ratePerSecond: options.rate }),
        signal,
        onProgress(now) {
          heard = now;
          progress.show(now.worked / now.total, `${number(now.worked)} of ${number(now.total)}`);
        },
      }),
    );
    if (options.json === true) printJson(bulk);
    return concludeBulk(bulk, before, goOn, signal);
  } catch (failure) {
    if (failure instanceof ConfigurationError) throw failure; // nothing was begun
    tell(stoppedText(heard, goOn));
    tellFailure(failure);
    return (heard.counts.done ?? 0) > 0 ? EXIT.partial : EXIT.failed;
  }
}
