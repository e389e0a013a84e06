import { delay } from '../../host/real-timers.ts';
import { plural } from '../../ops/words/format.ts';
import { agentFor } from '../../sender/deliver.ts';
import { ADVICE } from './advice.ts';
import { duration, isAccepted, tellsToWait, type Exchange } from './check-run.ts';
import { described, fault, late, notAccepted, outcome, warning, type Finding, type Probe } from './findings.ts';

/** Sends one body byte by byte, and holds back its last byte until the other deliveries are answered. */
export const slowBody: Probe = async (run) => {
  const { body, what } = run.event();
  const begun = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const slow = run.send(body, {
    patience: 3,
    async write(write, bytes) {
      const last = bytes.byteLength - 1;
      for (let at = 0; at < last; at++) {
        write(bytes.subarray(at, at + 1));
        if (at === last >> 1) begun.resolve();
        await delay(1);
      }
      await answered.promise;
      write(bytes.subarray(last));
    },
  });
  await Promise.race([begun.promise, slow]);
  const others = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const event = run.event();
      const sent = `${event.what}, while the body of another delivery arrives byte by byte`;
      const answer = await run.send(event.body);
      const isWaiting = answer.status === null && answer.failure === 'too-late';
      return isWaiting ? fault(sent, answer, ADVICE.waitsForOne) : notAccepted(sent, answer);
    }),
  );
  answered.resolve();
  return outcome([...others, notAccepted(`${what}, with its body sent byte by byte`, await slow, ADVICE.givesUp)]);
};

/** Sends five deliveries on one connection, if the endpoint keeps it. An unread body of the forged one would block. */
export const keepAlive: Probe = async (run) => {
  const agent = agentFor(run.settings.url, 1);
  const findings = [];
  let reused = 0;
  try {
    for (const [n, kind] of ['good', 'good', 'forged', 'good', 'good'].entries()) {
      const { body, what } = run.event();
      const signature = run.sign(kind === 'forged' ? run.event().body : body);
      const answer = await run.send(body, { agent, signature });
      const sent = `${what}, as delivery ${n + 1} on one connection`;
      if (answer.status === null && answer.failure === 'cut') findings.push(fault(sent, answer, ADVICE.cutBetween));
      else if (kind === 'good') findings.push(notAccepted(sent, answer));
      if (answer.status !== null && answer.onUsedConnection) reused += 1;
    }
  } finally {
    agent.destroy();
  }
  return outcome(findings, reused === 0 ? 'the endpoint closes the connection after each response' : undefined);
};

const AT_ONCE = 50;

/** Only this probe judges an endpoint that says "later". */
export const burst: Probe = async (run) => {
  const events = Array.from({ length: AT_ONCE }, () => run.event());
  const answers = await Promise.all(events.map(({ body }) => run.send(body, { once: true })));
  const sent = `${AT_ONCE} events at once, ids ${events[0]?.id} to ${events.at(-1)?.id}`;
  const refused = answers.filter((answer) => !isAccepted(answer));
  const first = refused.find((answer) => !tellsToWait(answer)) ?? refused[0]; // "later" is better than a timeout
  if (first !== undefined) return outcome([refusedUnderLoad(`${sent}; ${refused.length} were not accepted`, first)]);
  const slowest = Math.max(...answers.map(({ ms }) => ms));
  const isLate = slowest > run.settings.deadlineMs && !run.isLateAlone();
  const { deliveries, first: later } = run.retries;
  if (!isLate && later !== null) {
    const earlier = `${plural(deliveries, 'delivery', 'deliveries')} earlier in this run`;
    return outcome([warning(earlier, described(later), ADVICE.putsOff)]);
  }
  const last = `the last response arrived after ${duration(slowest)}`;
  return outcome([isLate ? fault(sent, last, ADVICE.lateUnderLoad) : null], last);
};

function refusedUnderLoad(sent: string, answer: Exchange): Finding | null {
  if (answer.status === null && answer.failure === 'too-late') return fault(sent, answer, ADVICE.lateUnderLoad);
  const saysLater = answer.status === 429 || answer.status === 503;
  return saysLater
    ? warning(sent, described(answer), ADVICE.refusesUnderLoad)
    : notAccepted(sent, answer, ADVICE.refusesUnderLoad);
}

export const inTime: Probe = async (run) => {
  if (run.slowest === null) for (let n = 0; n < 3; n++) await run.deliver(run.event());
  if (run.slowest === null) return outcome([notAccepted('a valid delivery', await run.deliver(run.event()))]);
  const { ms, what } = run.slowest;
  const finding = late(what, ms, run.settings.deadlineMs);
  return outcome([finding], finding === null ? `the slowest response took ${duration(ms)}` : undefined);
};
