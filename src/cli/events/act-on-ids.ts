import { turn as nextTurn } from '../../host/real-timers.ts';
import { ConfigurationError } from '../../errors.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { EventKey } from '../../inbox/event.ts';
import {
  decideOnStored,
  askedByKey,
  decideAct,
  mayBeDone,
  summaryAt,
  type ActDecision,
  type AskedAct,
} from '../../inbox/rules/operator-acts.ts';
import {
  discardEvents,
  getEvent,
  retryEventsNow,
  rerunEvents,
  type Act,
  type ActOptions,
  type ActReport,
  type ActResult,
  type By,
  type EventSummary,
} from '../../ops/index.ts';
import { heldUp, heldUpInWords } from '../../ops/pauses.ts';
import { resultInWords } from '../../ops/words/event-words.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { print, printNdjson, styled, tell } from '../shared/output.ts';
import type { ActOnOptions } from './act-options.ts';
import { tellPending } from './bulk-report.ts';
import { byOf } from './by.ts';
import { idText } from './event-texts.ts';
import { tellPaused } from './pause.ts';
import { foundEvent } from './found-event.ts';

/** What one transaction takes. */
const MOST_AT_ONCE = 500;

/** Acts on events that are named, and prints what became of each. */
export async function actOnIds(
  inbox: Inbox,
  act: Act,
  ids: readonly string[],
  options: ActOnOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { json = false, dryRun = false } = options;
  const keys: EventSummary[] = [];
  /** those that a rerun leaves alone unless it is forced */
  const forceable = new Set<string>();
  const forced = askedByKey(act, true);
  let repeated = 0; // in another form of its id
  for (const id of new Set(ids)) {
    const found = await foundEvent(inbox, id, options);
    if (found === null) continue;
    if (keys.some(({ seq }) => seq === found.seq)) {
      repeated += 1;
      continue;
    }
    keys.push(found);
    if (mayBeDone(forced, found)) forceable.add(id);
  }

  let done = 0;
  let left = 0; // that --force would take
  for (let at = 0; at < keys.length && !signal.aborted; at += MOST_AT_ONCE) {
    const some = keys.slice(at, at + MOST_AT_ONCE).map(({ endpoint, id }) => ({ endpoint, id }));
    const results = dryRun ? await foreseen(inbox, act, some, options) : await acted(inbox, act, some, options);
    for (const { key, result } of results) {
      if (json) printNdjson({ ...key, result });
      else print(`${styled(result === 'done' ? 'green' : 'yellow', worded(act, result, dryRun))}  ${idText(key)}`);
      if (result === 'done') done += 1;
      if (result === 'not needed' && forceable.has(key.id)) left += 1;
    }
    await nextTurn(); // or Ctrl-C would never be heard
  }
  if (act !== 'discard' && !dryRun) tellPending(done);
  if (act !== 'discard' && done > 0) {
    const lanes = { types: keys.flatMap(({ type }) => type ?? []), endpoints: keys.map(({ endpoint }) => endpoint) };
    const held = await heldUp(inbox, { types: [...new Set(lanes.types)], endpoints: [...new Set(lanes.endpoints)] });
    for (const sentence of heldUpInWords({ ...held, paused: [] })) tell(sentence);
    await tellPaused(inbox);
  }
  if (act === 'rerun' && left > 0 && options.force !== true) tell('To rerun processed events, add --force.');
  if (signal.aborted) return EXIT.interrupted;
  if (keys.length === 0) return EXIT.notFound;
  if (done === 0) return EXIT.failed;
  return done === new Set(ids).size - repeated ? EXIT.ok : EXIT.partial;
}

function worded(act: Act, result: ActResult, dryRun: boolean): string {
  return dryRun && result === 'done' ? `would be ${resultInWords(act, result)}` : resultInWords(act, result);
}

const ACTS = {
  rerun: (inbox, keys, by, { force = false, ...options }) =>
    rerunEvents(inbox, keys, by, { force, ...inStates(options) }),
  discard: (inbox, keys, by, options) => discardEvents(inbox, keys, by, inStates(options)),
  'retry-now': (inbox, keys, by, options) => retryEventsNow(inbox, keys, by, inStates(options)),
} as const satisfies Record<
  Act,
  (inbox: Inbox, keys: readonly EventKey[], by: By, options: ActOnOptions) => Promise<ActReport>
>;

function inStates({ state }: Pick<ActOnOptions, 'state'>): Pick<ActOptions, 'states'> {
  return state === undefined ? {} : { states: state };
}

async function acted(
  inbox: Inbox,
  act: Act,
  keys: readonly EventKey[],
  options: ActOnOptions,
): Promise<ActReport['results']> {
  const by = byOf(options);
  try {
    const { results } = await ACTS[act](inbox, keys, by, options);
    return results;
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
  { force = false, state }: ActOnOptions,
): Promise<ActReport['results']> {
  const asked = askedByKey(act, force, state);
  const results = [];
  for (const key of keys) {
    const decision =
      act === 'retry-now' ? await foreseenOf(inbox, asked, key) : decideOnStored(asked, await inbox.get(key));
    results.push({ key, result: decision.result });
  }
  return results;
}

/** Whether it would be retried now: that depends on when it is due, and on no body. */
async function foreseenOf(inbox: Inbox, asked: AskedAct, key: EventKey): Promise<ActDecision> {
  const history = await getEvent(inbox, key);
  return decideAct(asked, history && summaryAt(history.summary, new Date()), null);
}
