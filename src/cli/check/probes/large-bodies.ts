import { duration } from '../exchange.ts';
import { fault, outcome, warning, type Advice } from '../judge-answers.ts';
import { isTaken, type CheckRun } from '../check-run.ts';
import type { Probe } from './probe.ts';

const MIB = 1024 * 1024;
const TOO_LARGE = 413;

const NO_ANSWER: Advice = {
  why: 'A connection that is reset or hangs looks like an outage. The sender cannot see that the event was too large.',
  mend:
    'Return 413 and keep reading for a moment, so that a client that is still writing receives the response. Do ' +
    'not ' +
    'call request.destroy() at the limit.',
};
const WRONG_STATUS: Advice = {
  why: 'The event was authentic, but the response does not say that the event was too large.',
  mend: 'Accept the event, or return 413. In Express, the default limit of express.raw({ limit }) is 100 KiB.',
};

/** Sends an event of so many MiB: it may be too large for the endpoint, but it has to be answered. */
export function sized(mebibytes: number): Probe {
  return async (run) => {
    const { sent, body } = eventOfSize(run, mebibytes * MIB);
    const answer = await run.send(body);
    if (answer.status === null) return outcome([fault(sent, answer, NO_ANSWER)]);
    const note = `returned ${answer.status} after ${duration(answer.ms)}`;
    const isRight = isTaken(answer) || answer.status === TOO_LARGE;
    return isRight ? outcome([], note) : outcome([warning(sent, answer, WRONG_STATUS)]);
  };
}

function eventOfSize(run: CheckRun, bytes: number): { readonly sent: string; readonly body: Uint8Array } {
  const { id, body } = run.event('order.created', { padding: '' });
  const text = Buffer.from(body).toString();
  const padded = text.replace('"padding":""', `"padding":"${'x'.repeat(bytes - body.byteLength)}"`);
  return { sent: `order.created of ${bytes} bytes, id ${id}, correctly signed`, body: Buffer.from(padded) };
}
