import { performance } from '../../../host/real-timers.ts';
import { rowsOrCount, type Effects } from '../effects-address.ts';
import { fault, notTaken, outcome, toldToWait, type Advice } from '../judge-answers.ts';
import { duplicateIn } from '../hookbox-answer.ts';
import { tellsToWait } from '../told-to-wait.ts';
import type { Finding, ProbeOutcome } from '../check-report.ts';
import { isTaken, type CheckEvent, type CheckRun } from '../check-run.ts';
import { BY_EFFECTS, KNOWN_BY_ANSWERS, noEffects, noEvidence, rowOrWork, stillNothing } from './evidence.ts';
import type { Probe } from './probe.ts';

const ONE_BY_ONE = 3;
const AT_ONCE = 16;

/**
 * Asks for each event as soon as it was answered, the first few alone, the rest at once, when a store that is late is
 * later still. A store that is late by less than the question is on its way, about a millisecond (`setImmediate` after the
 * answer), passes: from outside it looks like a store before the answer.
 */
export const storedFirst: Probe = async (run) => {
  const { effects } = run;
  const trial = effects === null ? knownAtOnce : trialWith(effects);
  const trials: Trial[] = [];
  for (let n = 0; n < ONE_BY_ONE; n++) trials.push(await trial(run, run.event()));
  if (trials.every(({ seen }) => seen === 'nothing')) return verdictOn(trials);
  trials.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => trial(run, run.event())))));
  return verdictOn(trials, effects === null ? KNOWN_BY_ANSWERS : BY_EFFECTS);
};

/** What was seen of one event. */
interface Trial {
  readonly sent: string;
  /** `missed`: the question was put off, and an answer later on tells nothing */
  readonly seen: 'stored' | 'later' | 'never' | 'missed' | 'nothing';
  readonly finding: Finding | null;
  /** rows were counted, not work */
  readonly isOfRows?: boolean;
}

const ANSWERS_FIRST: Advice = {
  why: 'After a 2xx, the service does not send the event again. If the process or the store fails after the response, the event is lost without a trace.',
  mend: 'Store first, wait for the commit, then answer: await the INSERT before response.status(200). Handle the stored event afterwards.',
};

function trialWith(effects: Effects): (run: CheckRun, event: CheckEvent) => Promise<Trial> {
  return async (run, { id, body, what: sent }) => {
    const answer = await run.send(body);
    if (!isTaken(answer)) return { sent, seen: 'nothing', finding: notTaken(sent, answer) };
    const began = performance.now();
    const atOnce = await effects.of(id);
    if ('why' in atOnce) return { sent, seen: 'nothing', finding: noEffects(sent, atOnce) };
    if (rowsOrCount(atOnce) > 0) return { sent, seen: 'stored', finding: null };
    const later = await effects.onceThere(id, run.settleMs, rowsOrCount);
    if ('why' in later) return { sent, seen: 'nothing', finding: noEffects(sent, later) };
    const isOfRows = later.rows !== null;
    const count = rowsOrCount(later);
    if (count === 0) return { sent, seen: 'never', isOfRows, finding: stillNothing(sent, run.settleMs) };
    const ms = Math.round(performance.now() - began);
    const received = `${answer.status}; no ${isOfRows ? 'row' : 'effect'} right after the answer, but ${count} within ${ms} ms`;
    const finding = isOfRows ? fault(sent, received, ANSWERS_FIRST) : rowOrWork(sent, received);
    return { sent, seen: 'later', isOfRows, finding };
  };
}

/** hookbox says whether it knows an event: once it has answered, it must. */
async function knownAtOnce(run: CheckRun, { id, body, what: sent }: CheckEvent): Promise<Trial> {
  const first = await run.send(body);
  const again = isTaken(first) ? await run.send(body, { once: true }) : first;
  if (tellsToWait(again)) return { sent, seen: 'missed', finding: toldToWait(sent, again) };
  if (!isTaken(again)) return { sent, seen: 'nothing', finding: notTaken(sent, again) };
  const said = [duplicateIn(first, id), duplicateIn(again, id)];
  if (said.includes(null)) return { sent, seen: 'nothing', finding: noEvidence(sent) };
  if (said[1] === true) return { sent, seen: 'stored', finding: null };
  const received = `${first.status} twice with "duplicate": false: the endpoint did not know the event when it answered`;
  return { sent, seen: 'later', finding: fault(sent, received, ANSWERS_FIRST) };
}

/** One finding of each kind is enough; all events are alike. */
function verdictOn(trials: readonly Trial[], note?: string): ProbeOutcome {
  const { stored = [], later = [], never = [], missed = [], nothing = [] } = Object.groupBy(trials, ({ seen }) => seen);
  const isLost = stored.length + later.length > 0;
  const first = later[0] ?? never[0];
  if (first === undefined) {
    const unseen = nothing[0] ?? (stored.length === 0 ? missed[0] : undefined);
    return unseen === undefined ? outcome([], note) : outcome([unseen.finding]);
  }
  const finding =
    first.seen === 'never' && isLost && first.isOfRows === true
      ? fault(first.sent, `a 2xx but no row; other events with a row: ${stored.length}`, ANSWERS_FIRST)
      : first.finding;
  return outcome([finding], later.length > 0 ? `${later.length} of ${trials.length} events` : note);
}
