import { delay, performance } from '../../host/real-timers.ts';
import { ADVICE } from './advice.ts';
import {
  duplicateIn,
  isAccepted,
  tellsToWait,
  type CheckEvent,
  type CheckRun,
  type Effect,
  type Effects,
  type Exchange,
  type NoCount,
} from './check-run.ts';
import {
  described,
  fault,
  notAccepted,
  outcome,
  unjudged,
  unknown,
  warning,
  type Finding,
  type Probe,
  type ProbeOutcome,
} from './findings.ts';

const BY_EFFECTS = 'judged by --effects';
const AT_ONCE = 16;

/**
 * Looks for each event right after its response: the first three alone, the rest together, when late stores take even
 * longer. A store within a millisecond after the response (`setImmediate`) passes, as it looks like one before it.
 */
export const storedFirst: Probe = async (run) => {
  const { effects } = run;
  const trial = effects === null ? knownAtOnce : trialWith(effects);
  const trials: Trial[] = [];
  for (let n = 0; n < 3; n++) trials.push(await trial(run, run.event()));
  if (trials.every(({ seen }) => seen === 'nothing')) return verdictOn(trials);
  trials.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => trial(run, run.event())))));
  const byAnswers =
    'judged by the responses of the endpoint: it recognised the event, but its responses do not show whether the event was on disk';
  return verdictOn(trials, effects === null ? byAnswers : BY_EFFECTS);
};

interface Trial {
  readonly sent: string;
  /** `missed`: the request had to wait, and a later response proves nothing */
  readonly seen: 'stored' | 'later' | 'never' | 'missed' | 'nothing';
  readonly finding: Finding | null;
  readonly isOfRows?: boolean;
}

function trialWith(effects: Effects): (run: CheckRun, event: CheckEvent) => Promise<Trial> {
  const rowsOrCount = ({ rows, count }: Effect): number => rows ?? count ?? 0;
  return async (run, { id, body, what: sent }) => {
    const { settleMs } = run.settings;
    const answer = await run.send(body);
    if (!isAccepted(answer)) return { sent, seen: 'nothing', finding: notAccepted(sent, answer) };
    const began = performance.now();
    const first = await effects.of(id);
    if (!('why' in first) && rowsOrCount(first) > 0) return { sent, seen: 'stored', finding: null };
    const later = 'why' in first ? first : await effects.onceThere(id, settleMs, rowsOrCount);
    if ('why' in later) return { sent, seen: 'nothing', finding: noEffects(sent, later) };
    const isOfRows = later.rows !== null;
    const count = rowsOrCount(later);
    if (count === 0) return { sent, seen: 'never', isOfRows, finding: stillNothing(sent, settleMs) };
    const ms = Math.round(performance.now() - began);
    const received = `${answer.status}; no ${isOfRows ? 'row' : 'effect'} right after the answer, but ${count} within ${ms} ms`;
    const finding = isOfRows
      ? fault(sent, received, ADVICE.answersFirst)
      : unknown(sent, `${received}, which may be a row or a handler run`, ADVICE.rowOrRun);
    return { sent, seen: 'later', isOfRows, finding };
  };
}

/** hookbox reports whether it knows an event. After a 2xx, it must know the event. */
async function knownAtOnce(run: CheckRun, { id, body, what: sent }: CheckEvent): Promise<Trial> {
  const first = await run.send(body);
  const again = isAccepted(first) ? await run.send(body, { once: true }) : first;
  if (tellsToWait(again)) return { sent, seen: 'missed', finding: unjudged(sent, again) };
  if (!isAccepted(again)) return { sent, seen: 'nothing', finding: notAccepted(sent, again) };
  const known = [duplicateIn(first, id), duplicateIn(again, id)];
  if (known.includes(null)) return { sent, seen: 'nothing', finding: noEvidence(sent) };
  if (known[1] === true) return { sent, seen: 'stored', finding: null };
  const received = `${first.status} twice with "duplicate": false: the endpoint did not know the event when it answered`;
  return { sent, seen: 'later', finding: fault(sent, received, ADVICE.answersFirst) };
}

function verdictOn(trials: readonly Trial[], note?: string): ProbeOutcome {
  const { stored = [], later = [], never = [], missed = [], nothing = [] } = Object.groupBy(trials, ({ seen }) => seen);
  const first = later[0] ?? never[0];
  if (first === undefined) {
    const unseen = nothing[0] ?? (stored.length === 0 ? missed[0] : undefined);
    return unseen === undefined ? outcome([], note) : outcome([unseen.finding]);
  }
  const isLost = first.seen === 'never' && first.isOfRows === true && stored.length > 0;
  const finding = isLost
    ? fault(first.sent, `a 2xx but no row; other events with a row: ${stored.length}`, ADVICE.answersFirst)
    : first.finding;
  return outcome([finding], later.length > 0 ? `${later.length} of ${trials.length} events` : note);
}

export const duplicates: Probe = async (run) => {
  const event = run.event();
  const first = await run.deliver(event);
  if (!isAccepted(first)) return outcome([notAccepted(event.what, first)]);
  const answers = [first];
  for (let n = 0; n < 3; n++) answers.push(await run.deliver(event));
  const sent = `${event.what}, 4 times`;
  const refused = answers.find((answer) => !isAccepted(answer));
  const finding = refused === undefined ? null : notAccepted(sent, refused, ADVICE.refusesDuplicates);
  return takenOnce(run, event, { sent, answers, finding });
};

/** After these statuses, the service sends the event again, and then the event is known. */
const LATER: ReadonlySet<number | null> = new Set([409, 425, 429, 503]);

export const duplicatesAtOnce: Probe = async (run) => {
  const event = run.event();
  const sent = `${event.what}, ${AT_ONCE} times at once`;
  const copies = await Promise.all(Array.from({ length: AT_ONCE }, () => run.send(event.body)));
  const last = await run.send(event.body);
  const answers = [...copies, last];
  const unanswered = answers.find(({ status }) => status === null);
  const stumbling = answers.find((answer) => !isAccepted(answer) && !LATER.has(answer.status));
  const advice = answers.some(isAccepted) ? ADVICE.refusesDuplicates : ADVICE.notEvenOne;
  const finding =
    (unanswered && notAccepted(sent, unanswered)) ??
    notAccepted(`${sent}, and once more`, last, advice) ??
    (stumbling === undefined ? null : warning(sent, stumbling, ADVICE.stumblesAtOnce));
  return takenOnce(run, event, { sent, answers, finding });
};

interface Copies {
  readonly sent: string;
  readonly answers: readonly Exchange[];
  readonly finding: Finding | null;
}

async function takenOnce(run: CheckRun, event: CheckEvent, { sent, answers, finding }: Copies): Promise<ProbeOutcome> {
  const seen = run.effects === null ? null : await byEffects(run, run.effects, event, sent);
  if (seen?.note !== undefined) return outcome([finding, seen.finding], seen.note);
  const known = byAnswers(event, sent, answers);
  if (known !== undefined) return outcome([finding, known], 'judged by the responses of the endpoint');
  return outcome([finding, seen?.finding ?? noEvidence(sent)]);
}

/** Without a note, the effects could not be counted. */
async function byEffects(
  { settings: { settleMs, signal } }: CheckRun,
  effects: Effects,
  { id }: CheckEvent,
  sent: string,
): Promise<ProbeNote> {
  const most = ({ rows, count }: Effect): number => Math.max(rows ?? 0, count ?? 0);
  let effect = await effects.onceThere(id, settleMs, most);
  if (!('why' in effect) && most(effect) === 1) {
    await delay(settleMs, undefined, { signal }); // the effect of a copy may still be on its way
    effect = await effects.of(id);
  }
  if ('why' in effect) return { finding: noEffects(sent, effect) };
  const count = most(effect);
  if (count === 0) return { finding: stillNothing(sent, settleMs) };
  if (count > 1) return { note: BY_EFFECTS, finding: fault(sent, `2xx, and ${count} effects`, ADVICE.takesTwice) };
  const byRows = 'judged by the rows that the --effects URL reported; the number of handler runs is unknown';
  return { note: effect.count === null ? byRows : BY_EFFECTS, finding: null };
}

interface ProbeNote {
  readonly note?: string;
  readonly finding: Finding | null;
}

/** hookbox reports for each delivery whether it knew the event; it must know all but one. `undefined` for others. */
function byAnswers({ id }: CheckEvent, sent: string, answers: readonly Exchange[]): Finding | null | undefined {
  const taken = answers.filter(isAccepted);
  const known = taken.map((answer) => duplicateIn(answer, id));
  if (known.includes(null) || known.length < 2) return undefined;
  const news = taken.filter((_, n) => known[n] === false);
  const [, second] = news;
  if (second === undefined) return null;
  return fault(sent, `${news.length} answers like this: ${described(second)}`, ADVICE.takesTwice);
}

function noEvidence(sent: string): Finding {
  return unknown(sent, 'a 2xx, which does not show whether the event was stored', ADVICE.noEvidence);
}

function noEffects(sent: string, { why }: NoCount): Finding {
  return unknown(sent, `a 2xx, but the --effects URL failed: ${why}`, ADVICE.noEffects);
}

function stillNothing(sent: string, waitedMs: number): Finding {
  return unknown(sent, `a 2xx, and no effect within ${waitedMs / 1_000} s`, ADVICE.stillNothing);
}
