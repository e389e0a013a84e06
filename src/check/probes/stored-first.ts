import type { Count, Effects } from '../effects.ts';
import { fault, notTaken, outcome, type Advice } from '../judge.ts';
import { duplicateIn } from '../own-answer.ts';
import type { Finding, ProbeOutcome } from '../report.ts';
import { isTaken, type CheckEvent, type CheckRun } from '../run.ts';
import { BY_ANSWERS, BY_EFFECTS, noEffects, noEvidence } from './evidence.ts';
import type { Probe } from './probe.ts';

const ONE_BY_ONE = 3;
const AT_ONCE = 16;

/** The first few alone; the rest at once, when a store that is late is later still. */
export const storedFirst: Probe = async (run) => {
  const { effects } = run;
  const trial = effects === null ? knownAtOnce : trialWith(effects);
  const trials: Trial[] = [];
  for (let n = 0; n < ONE_BY_ONE; n++) trials.push(await trial(run, run.event()));
  if (trials.every(({ seen }) => seen === 'nothing')) return verdictOn(trials);
  trials.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => trial(run, run.event())))));
  return verdictOn(trials, effects === null ? BY_ANSWERS : BY_EFFECTS);
};

/** What was seen of one event. */
interface Trial {
  readonly sent: string;
  readonly seen: 'stored' | 'later' | 'never' | 'nothing';
  readonly finding: Finding | null;
}

const ANSWERS_FIRST: Advice = {
  why: 'A 2xx ends the matter for the service. When the process dies, or the store fails, between the answer and the store, the event is gone for good and nobody knows.',
  mend: 'Store first, wait for the commit, then answer: await the INSERT before response.status(200). Do the work afterwards, from what was stored.',
};

function trialWith(effects: Effects): (run: CheckRun, event: CheckEvent) => Promise<Trial> {
  return async (run, { id, body, what: sent }) => {
    const answer = await run.send(body);
    if (!isTaken(answer)) return { sent, seen: 'nothing', finding: notTaken(sent, answer) };
    const began = performance.now();
    const atOnce: Count = await effects.count(id);
    if (typeof atOnce !== 'number') return { sent, seen: 'nothing', finding: noEffects(sent, atOnce, 0) };
    if (atOnce > 0) return { sent, seen: 'stored', finding: null };
    const later = await effects.countOnceThere(id, run.settleMs);
    if (typeof later !== 'number') return { sent, seen: 'nothing', finding: noEffects(sent, later, 0) };
    if (later === 0) return { sent, seen: 'never', finding: noEffects(sent, later, run.settleMs) };
    const ms = Math.round(performance.now() - began);
    const received = `${answer.status}; no effect right after it, and ${later} within ${ms} ms`;
    return { sent, seen: 'later', finding: fault(sent, received, ANSWERS_FIRST) };
  };
}

/** hookbox says whether it knows an event: when it has answered, it does. */
async function knownAtOnce(run: CheckRun, { id, body, what: sent }: CheckEvent): Promise<Trial> {
  const first = await run.send(body);
  const again = isTaken(first) ? await run.send(body) : first;
  if (!isTaken(again)) return { sent, seen: 'nothing', finding: notTaken(sent, again) };
  const said = [duplicateIn(first, id), duplicateIn(again, id)];
  if (said.includes(null)) return { sent, seen: 'nothing', finding: noEvidence(sent) };
  if (said[1] === true) return { sent, seen: 'stored', finding: null };
  const received = `twice ${first.status} with "duplicate": false: when it was answered, it was not known`;
  return { sent, seen: 'later', finding: fault(sent, received, ANSWERS_FIRST) };
}

/** One finding of each kind is enough; all events are alike. */
function verdictOn(trials: readonly Trial[], note?: string): ProbeOutcome {
  const { stored = [], later = [], never = [], nothing = [] } = Object.groupBy(trials, ({ seen }) => seen);
  const isLost = stored.length + later.length > 0;
  const first = later[0] ?? never[0];
  if (first === undefined) return nothing[0] === undefined ? outcome([], note) : outcome([nothing[0].finding]);
  const finding =
    first.seen === 'never' && isLost
      ? fault(first.sent, `a 2xx and no effect, unlike ${stored.length} others`, ANSWERS_FIRST)
      : first.finding;
  return outcome([finding], later.length > 0 ? `${later.length} of ${trials.length} events` : note);
}
