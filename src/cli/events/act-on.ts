import { ConfigurationError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import { cancelBulk, getBulk, previewBulk, runBulk, type Act, type Bulk, type EventFilter } from '../../ops/index.ts';
import { inboxOptions } from '../../host/shell-words.ts';
import { heldUp, lanesOf, heldUpInWords } from '../../ops/pauses.ts';
import { ACT_WORDS, sentenceOf } from '../../ops/words/act-words.ts';
import { number, plural } from '../../ops/words/format.ts';
import { requireConsent, typedCount } from './confirm.ts';
import { neededInbox, shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { printJson, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { tellPaused } from './pause.ts';
import { tellFailure } from '../shared/tell-failure.ts';
import { tellUnknownTypes } from '../shared/unknown-types.ts';
import { actOnIds } from './act-on-ids.ts';
import type { ActOnOptions } from './act-options.ts';
import { eventFilterOf, isEverything } from './filter-from-options.ts';
import { concludeBulk, printFound, stoppedText } from './bulk-report.ts';
import { byOf } from './by.ts';
import { foundForAct } from './found-for-act.ts';
import { underWay } from '../shared/interruptible.ts';

const EXAMPLES = {
  rerun: '--state dead --since 2h',
  discard: '--state dead --since 2h',
  'retry-now': '--type order.created --since 2h',
} as const satisfies Record<Act, string>;

/** What an operator agrees to. */
const TO_DO = {
  rerun: 'rerun them',
  discard: 'discard them',
  'retry-now': 'retry them now',
} as const satisfies Record<Act, string>;

/** Reruns, discards or retries now the events that the arguments mean, and resolves with how to exit. */
export async function actOn(act: Act, ids: readonly string[], options: ActOnOptions): Promise<ExitCode> {
  const { all = false, dryRun = false, force = false } = options;
  const filter = eventFilterOf(options);
  // Of events that are named these two say which are meant.
  const { endpoint: _, states: __, ...beyondNames } = filter;
  const bulk = options.resume ?? options.cancel;
  const ways = [
    ids.length > 0,
    all || !isEverything(ids.length > 0 ? beyondNames : filter),
    options.resume !== undefined,
    options.cancel !== undefined,
  ].filter(Boolean).length;
  if (ways === 0) {
    throw usageError(`Pass event ids, a filter such as ${EXAMPLES[act]}, or --all.`);
  }
  if (ways > 1) throw usageError('Use only one of these: event ids; a filter (or --all); --resume; --cancel.');
  if (all && !isEverything(filter)) throw usageError('--all selects every event. Remove --all, or remove the filter.');
  if (bulk !== undefined && (dryRun || force)) {
    throw usageError('The preview already decided what this bulk action does. Remove --dry-run and --force.');
  }

  const signal = interruption();
  await using inbox = await existingInbox(options);
  if (options.cancel !== undefined) return await cancel(inbox, act, options.cancel, options);
  if (options.resume !== undefined) return await resume(inbox, act, options.resume, options, signal);
  if (ids.length > 0) return await actOnIds(inbox, act, ids, options, signal);
  return await actOnFound(inbox, act, filter, options, signal);
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
    tell(`${shownInbox(options)} has no matching event that can be ${ACT_WORDS[act].done}.`);
    if (act === 'rerun' && !force && filter.states === undefined && filter.ignoredSince === undefined)
      tell('To rerun ignored or discarded events, add --state ignored or --state discarded.');
    tellUnknownTypes(options.type);
    return EXIT.notFound;
  }
  if (dryRun) {
    if (json) printJson(found);
    else printFound(found, options);
    if (act !== 'discard') for (const sentence of heldUpInWords(await heldUp(inbox, lanesOf(found)))) tell(sentence);
    return EXIT.ok;
  }
  const bulk = await preview(inbox, act, filter, options, signal);
  if (bulk === null) return EXIT.interrupted;
  let isAgreedTo = false;
  try {
    isAgreedTo = await isAgreed(inbox, bulk, yes, signal);
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
        progress.show(null, `${plural(examined, 'event')} searched, ${number(found)} found`),
    });
  } catch (failure) {
    if (signal.aborted) return null;
    throw failure;
  } finally {
    progress.end();
  }
}

/** Shows the preview, and has the count typed unless that was agreed beforehand. */
async function isAgreed(inbox: Inbox, bulk: Bulk, yes: boolean, signal: AbortSignal): Promise<boolean> {
  tell(sentenceOf(bulk));
  if (bulk.act !== 'discard') for (const sentence of heldUpInWords(await heldUp(inbox, lanesOf(bulk)))) tell(sentence);
  if (yes || (await typedCount(bulk.total, TO_DO[bulk.act], signal))) return true;
  tell('Nothing changed.');
  return false;
}

/** Goes on with a bulk action that was stopped, or runs one that was previewed on the page. */
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
    if (!(await isAgreed(inbox, bulk, yes, signal))) return signal.aborted ? EXIT.interrupted : EXIT.failed;
  }
  return run(inbox, bulk, options, signal);
}

/** Ends a bulk action for good. */
async function cancel(inbox: Inbox, act: Act, id: number, options: ActOnOptions): Promise<ExitCode> {
  const before = await knownBulk(inbox, act, id, options);
  if (before === null) return EXIT.notFound;
  const bulk = await cancelBulk(inbox, id, byOf(options));
  if (options.json === true) printJson(bulk);
  if (before.endedAt !== null) {
    tell(`Bulk action ${id} has already ended: ${before.state}.`);
    return EXIT.failed;
  }
  tell(`Cancelled bulk action ${id} after ${number(bulk.worked)} of ${plural(bulk.total, 'event')}.`);
  return EXIT.ok;
}

async function knownBulk(inbox: Inbox, act: Act, id: number, options: ActOnOptions): Promise<Bulk | null> {
  const bulk = await getBulk(inbox, id);
  if (bulk === null)
    tell(`${shownInbox(options)} has no bulk action ${id}. To list bulk actions, run hookbox events bulks.`);
  else if (bulk.act !== act) throw usageError(`Bulk action ${id} is a ${bulk.act}. Use hookbox events ${bulk.act}.`);
  return bulk;
}

async function run(inbox: Inbox, before: Bulk, options: ActOnOptions, signal: AbortSignal): Promise<ExitCode> {
  const { id, act } = before;
  const goOn = ['hookbox events', act, '--resume', id, ...inboxOptions(neededInbox(options))].join(' ');
  const look = ['hookbox events bulks', id, ...inboxOptions(neededInbox(options))].join(' ');
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
    const exit = concludeBulk(bulk, before, { goOn, look }, signal);
    // All is done: an inbox that is lost now does not change that.
    if (act !== 'discard') await tellPaused(inbox).catch(tellFailure);
    return exit;
  } catch (failure) {
    if (failure instanceof ConfigurationError) throw failure; // nothing was begun
    tell(stoppedText(heard, goOn));
    tellFailure(failure);
    return (heard.counts.done ?? 0) > 0 ? EXIT.partial : EXIT.failed;
  }
}
