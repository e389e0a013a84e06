import { plural } from '../../../ops/words/format.ts';
import { duration, type Exchange } from '../exchange.ts';
import { described, fault, late, notTaken, outcome, warning, type Advice } from '../judge-answers.ts';
import { tellsToWait } from '../told-to-wait.ts';
import type { Finding } from '../check-report.ts';
import { isTaken } from '../check-run.ts';
import type { Probe } from './probe.ts';

const AT_ONCE = 50;

const LATE_UNDER_LOAD: Advice = {
  why:
    'The endpoint answers single deliveries in time, but not the many that arrive at once after an outage. ' +
    'Those deliveries fail, and the service later resends all of them together.',
  mend: 'Before you respond, verify and store the event, and do nothing else. Store many events in one transaction, and handle them after the response.',
};
const REFUSES_UNDER_LOAD: Advice = {
  why: 'Each of these deliveries counts as failed, and the service sends its event again after five minutes or more.',
  mend: 'Accept at least 50 concurrent deliveries. Exclude the route from the rate limit, and enlarge the database pool.',
};

/** Here alone an endpoint is judged by what it puts off. */
export const burst: Probe = async (run) => {
  const events = Array.from({ length: AT_ONCE }, () => run.event());
  const answers = await Promise.all(events.map(({ body }) => run.send(body, { once: true })));
  const slowest = Math.max(...answers.map(({ ms }) => ms));
  const sent = `${AT_ONCE} events at once, ids ${events[0]?.id} to ${events.at(-1)?.id}`;
  const refused = answers.filter((answer) => !isTaken(answer));
  const first = refused.find((answer) => !tellsToWait(answer)) ?? refused[0]; // an answer that says "later" is the lesser evil
  if (first !== undefined) return outcome([refusedUnderLoad(`${sent}; ${refused.length} were not accepted`, first)]);
  const isLate = slowest > run.deadlineMs && !run.isLateAlone();
  if (!isLate && run.retries.first !== null)
    return outcome([toldToWaitBefore(run.retries.deliveries, run.retries.first)]);
  const finding = isLate ? fault(sent, `the last response arrived after ${duration(slowest)}`, LATE_UNDER_LOAD) : null;
  return outcome([finding], `the last response arrived after ${duration(slowest)}`);
};

const PUTS_OFF: Advice = {
  why:
    'The service may ignore your request to wait. Each of these deliveries counts as failed, and the service retries ' +
    'it ' +
    'on its own schedule.',
  mend: REFUSES_UNDER_LOAD.mend,
};

function toldToWaitBefore(deliveries: number, first: Exchange): Finding {
  const sent = plural(deliveries, 'delivery', 'deliveries');
  return warning(`${sent} earlier in this run`, described(first), PUTS_OFF);
}

function refusedUnderLoad(sent: string, answer: Exchange): Finding | null {
  if (answer.status === null && answer.failure === 'too-late') return fault(sent, answer, LATE_UNDER_LOAD);
  const saysLater = answer.status === 429 || answer.status === 503;
  return saysLater ? warning(sent, described(answer), REFUSES_UNDER_LOAD) : notTaken(sent, answer, REFUSES_UNDER_LOAD);
}

const OWN_DELIVERIES = 3;

/** Judges the slowest answer of the whole run. */
export const inTime: Probe = async (run) => {
  if (run.slowest === null) for (let n = 0; n < OWN_DELIVERIES; n++) await run.deliver(run.event());
  if (run.slowest === null) return outcome([notTaken('a valid delivery', await run.deliver(run.event()))]);
  const { ms, what } = run.slowest;
  const finding = late(what, { ms, deadlineMs: run.deadlineMs });
  return outcome([finding], finding === null ? `the slowest response took ${duration(ms)}` : undefined);
};
