import { duration, type Exchange } from '../exchange.ts';
import { fault, notTaken, outcome, warning, type Advice } from '../judge.ts';
import type { Finding } from '../report.ts';
import { isTaken, type CheckRun } from '../run.ts';
import type { Probe } from './probe.ts';

const AT_ONCE = 50;

const LATE_UNDER_LOAD: Advice = {
  why: 'Single deliveries are answered in time, but not many at once, as after an outage: they fail, are sent again and come together again.',
  mend: 'Do nothing before the answer but verify and store; store many in one transaction; do the work afterwards.',
};
const REFUSES_UNDER_LOAD: Advice = {
  why: 'Each of these counts as failed and comes again after five minutes or more.',
  mend: 'Let at least 50 deliveries wait. Take the route out of the rate limit, and give the pool of the database room.',
};

export const burst: Probe = async (run) => {
  const events = Array.from({ length: AT_ONCE }, () => run.event());
  const answers = await Promise.all(events.map(({ body }) => run.send(body)));
  const slowest = Math.max(...answers.map(({ ms }) => ms));
  const sent = `${AT_ONCE} events at once, ids ${events[0]?.id} to ${events.at(-1)?.id}`;
  const refused = answers.filter((answer) => !isTaken(answer));
  const [first] = refused;
  if (first !== undefined) return outcome([refusedUnderLoad(`${sent}; ${refused.length} were not taken`, first)]);
  const isLate = slowest > run.deadlineMs && !isLateAlone(run);
  const finding = isLate ? fault(sent, `the last answer after ${duration(slowest)}`, LATE_UNDER_LOAD) : null;
  return outcome([finding], `the last answer after ${duration(slowest)}`);
};

function refusedUnderLoad(sent: string, answer: Exchange): Finding | null {
  if (answer.status === null && answer.failure === 'too-late') return fault(sent, answer, LATE_UNDER_LOAD);
  const saysLater = answer.status === 429 || answer.status === 503;
  return saysLater ? warning(sent, answer, REFUSES_UNDER_LOAD) : notTaken(sent, answer, REFUSES_UNDER_LOAD);
}

const LATE: Advice = {
  why: 'A delivery succeeds when a 2xx arrives within 10 s. This one counts as failed and is sent again, though you have it.',
  mend: 'Answer as soon as the event is stored, and do the work afterwards, from what was stored: mails, calls of other services and reports are no part of the request.',
};
const NEARLY_LATE: Advice = {
  why: 'More than half of the time the service waits. Under load, or over a slow network, deliveries will fail.',
  mend: LATE.mend,
};
const OWN_DELIVERIES = 3;

/** Judges the slowest answer of the whole run. */
export const inTime: Probe = async (run) => {
  if (run.slowest === null) for (let n = 0; n < OWN_DELIVERIES; n++) await run.deliver(run.event());
  if (run.slowest === null) return outcome([notTaken('a valid delivery', await run.deliver(run.event()))]);
  const { ms, what } = run.slowest;
  const received = `a 2xx after ${duration(ms)}; ${duration(run.deadlineMs)} are allowed`;
  if (isLateAlone(run)) return outcome([fault(what, received, LATE)]);
  if (ms > run.deadlineMs / 2) return outcome([warning(what, received, NEARLY_LATE)]);
  return outcome([], `the slowest answer after ${duration(ms)}`);
};

function isLateAlone({ slowest, deadlineMs }: CheckRun): boolean {
  return slowest !== null && slowest.ms > deadlineMs;
}
