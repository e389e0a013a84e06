import { delay } from '../../../host/real-timers.ts';
import { described, fault, notTaken, outcome, warning, type Advice } from '../judge-answers.ts';
import type { Exchange } from '../exchange.ts';
import { duplicateIn } from '../hookbox-answer.ts';
import type { Finding, ProbeOutcome } from '../check-report.ts';
import { most } from '../effects-address.ts';
import { isTaken, type CheckEvent, type CheckRun } from '../check-run.ts';
import { BY_ANSWERS, BY_EFFECTS, BY_ROWS, noEffects, noEvidence, stillNothing } from './evidence.ts';
import type { Probe } from './probe.ts';

const AGAIN = 3;
const AT_ONCE = 16;

const REFUSES_DUPLICATES: Advice = {
  why:
    'The service sends an event again if a response is lost. If the service gets no 2xx, it retries for a day and ' +
    'then gives up, even if you already have the event.',
  mend: 'Return a 2xx for an event whose id you already know, as you did for its first delivery.',
};

/** One event, four times one after the other. */
export const duplicates: Probe = async (run) => {
  const event = run.event();
  const first = await run.deliver(event);
  const missing = notTaken(event.what, first);
  if (missing !== null) return outcome([missing]);

  const answers = [first];
  for (let n = 0; n < AGAIN; n++) answers.push(await run.deliver(event));
  const sent = `${event.what}, ${AGAIN + 1} times`;
  const refused = answers.find((answer) => !isTaken(answer));
  const finding = refused === undefined ? null : notTaken(sent, refused, REFUSES_DUPLICATES);
  return takenOnce(run, event, { sent, answers, finding });
};

const STUMBLES_AT_ONCE: Advice = {
  why: 'The service sends the event again, so the event is not lost, but each of these deliveries counts as failed.',
  mend:
    'Two requests search for the id before either inserts it. Insert first, with a unique key: INSERT … ON CONFLICT DO NOTHING. Return a 2xx whether or not this ' +
    'inserts a row.',
};
const NOT_EVEN_ONE: Advice = {
  why: 'The endpoint accepted none of the copies. If this happens on every retry, the event is lost.',
  mend: 'Insert the event with a unique key on its id: INSERT … ON CONFLICT DO NOTHING. Return a 2xx whether or not this inserts a row.',
};
/** Answers that say "later": the service sends it again, and then the event is known. */
const LATER: ReadonlySet<number | null> = new Set([409, 425, 429, 503]);

/** One event, 16 times at once and then once more. */
export const duplicatesAtOnce: Probe = async (run) => {
  const event = run.event();
  const sent = `${event.what}, ${AT_ONCE} times at once`;
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => run.send(event.body)));
  answers.push(await run.send(event.body));

  const last = answers.at(-1);
  const unanswered = answers.find(({ status }) => status === null);
  const stumbling = answers.find((answer) => !isTaken(answer) && !LATER.has(answer.status));
  let finding = unanswered === undefined ? null : notTaken(sent, unanswered);
  const advice = answers.some(isTaken) ? REFUSES_DUPLICATES : NOT_EVEN_ONE;
  if (finding === null && last !== undefined) finding = notTaken(`${sent}, and once more`, last, advice);
  if (finding === null && stumbling !== undefined) finding = warning(sent, stumbling, STUMBLES_AT_ONCE);
  return takenOnce(run, event, { sent, answers, finding });
};

interface Copies {
  readonly sent: string;
  readonly answers: readonly Exchange[];
  /** what was wrong with the answers themselves */
  readonly finding: Finding | null;
}

const TAKES_TWICE: Advice = {
  why:
    'The service sends an event again if a response is lost, and an operator can resend it at any time. Each copy ' +
    'then causes one more order, email or refund.',
  mend: 'Put a unique key on the event id. In one transaction, run INSERT … ON CONFLICT DO NOTHING, and do the work only if the INSERT added a row.',
};

async function takenOnce(run: CheckRun, event: CheckEvent, { sent, answers, finding }: Copies): Promise<ProbeOutcome> {
  const seen = run.effects === null ? null : await effectsOf(run, event, sent);
  if (seen?.note !== undefined) return outcome([finding, seen.finding], seen.note);
  const said = byItsAnswers(event, sent, answers);
  if (said !== null) return outcome([finding, said.finding], BY_ANSWERS);
  return outcome([finding, seen?.finding ?? noEvidence(sent)]);
}

async function effectsOf(
  { effects, settleMs, signal }: CheckRun,
  { id }: CheckEvent,
  sent: string,
): Promise<{ readonly note?: string; readonly finding: Finding | null } | null> {
  if (effects === null) return null;
  let effect = await effects.onceThere(id, settleMs, most);
  if (!('why' in effect) && most(effect) === 1) {
    await delay(settleMs, undefined, { signal }); // the effect of a copy may still be on its way
    effect = await effects.of(id);
  }
  if ('why' in effect) return { finding: noEffects(sent, effect) };
  const count = most(effect);
  if (count === 0) return { finding: stillNothing(sent, settleMs) };
  if (count > 1) return { note: BY_EFFECTS, finding: fault(sent, `2xx, and ${count} effects`, TAKES_TWICE) };
  return { note: effect.count === null ? BY_ROWS : BY_EFFECTS, finding: null };
}

/** hookbox says of each delivery whether it knew the event: all but one have to be known. */
function byItsAnswers(
  { id }: CheckEvent,
  sent: string,
  answers: readonly Exchange[],
): { readonly finding: Finding | null } | null {
  const taken = answers.filter(isTaken);
  const said = taken.map((answer) => duplicateIn(answer, id));
  if (said.includes(null) || said.length < 2) return null;
  const news = taken.filter((_, n) => said[n] === false);
  const [, second] = news;
  if (second !== undefined)
    return { finding: fault(sent, `${news.length} answers like this: ${described(second)}`, TAKES_TWICE) };
  return { finding: null };
}
