import { tamperedSignature } from '../../../sender/faults.ts';
import { notRefused, outcome, warning, type Advice } from '../judge-answers.ts';
import type { Finding } from '../check-report.ts';
import { isTaken, type CheckRun } from '../check-run.ts';
import type { Probe } from './probe.ts';

const COMPARE =
  "createHmac('sha256', secret).update(rawBody).digest('hex'), compared with the header by crypto.timingSafeEqual";

async function forge(
  run: CheckRun,
  how: string,
  signature: (right: string) => string | null,
  accepted: Advice,
): Promise<Finding | null> {
  const { id, body } = run.event();
  const right = run.sign(body);
  const answer = await run.send(body, { signature: signature(right) });
  return notRefused(`order.created, id ${id}, ${how}`, answer, right, accepted);
}

const UNSIGNED: Advice = {
  why: 'A sender who knows only the URL can send events that you accept.',
  mend: 'Return 401 if X-Signature is missing or empty. Never skip verification because the signature is missing.',
};

/** Without a signature, and with an empty one. */
export const unsigned: Probe = async (run) =>
  outcome([
    await forge(run, 'without X-Signature', () => null, UNSIGNED),
    await forge(run, 'with an empty X-Signature', () => '', UNSIGNED),
  ]);

const NOT_COMPARED: Advice = {
  why: 'The signature has no effect. A sender who knows only the URL can send events that you accept.',
  mend: `Return 401 unless the whole signature matches: ${COMPARE}.`,
};

/** A signature that is wrong in one digit, and half of the right one. */
export const tamperedSignatures: Probe = async (run) =>
  outcome([
    await forge(run, 'with one digit of its signature changed', (right) => tamperedSignature(right, 1), NOT_COMPARED),
    await forge(run, 'with only the first 32 digits of its signature', (right) => right.slice(0, 32), NOT_COMPARED),
  ]);

const BODY_NOT_COVERED: Advice = {
  why: 'An attacker who has seen one delivery can change values in it, for example the total of an order.',
  mend: `For each delivery, compute the signature over the whole body: ${COMPARE}.`,
};

/** Another total than was signed. */
export const tamperedBody: Probe = async (run) => {
  const { id, body } = run.event('order.created', { total: 10 });
  const signature = run.sign(body);
  const changed = Buffer.from(Buffer.from(body).toString().replace('"total":10', '"total":99'));
  const answer = await run.send(changed, { signature });
  const sent = `order.created, id ${id}, with a number changed after signing`;
  return outcome([notRefused(sent, answer, run.sign(changed), BODY_NOT_COVERED)]);
};

/** A signature that is right for another body. */
export const foreignSignature: Probe = async (run) => {
  const other = run.sign(run.event().body);
  return outcome([await forge(run, 'with the signature of a different event', () => other, BODY_NOT_COVERED)]);
};

const LENIENT: Advice = {
  why:
    'The contract requires 64 lowercase hex digits, and a 401 for any other value. Buffer.from(header, "hex"), for ' +
    'example, stops silently at the first character that is not a hex digit. (This is only a warning: the ' +
    'value had the right digits, so no forgery passes.)',
  mend: `Reject a value that does not match /^[0-9a-f]{64}$/, then compare the whole value: ${COMPARE}.`,
};

const FORMS: readonly (readonly [how: string, write: (right: string) => string])[] = [
  ['with its signature in uppercase', (right) => right.toUpperCase()],
  ['with "sha256=" before its signature', (right) => `sha256=${right}`],
  ['with more characters after its signature', (right) => `${right}zz`],
];

/** The right digits in forms that the contract does not know: taking them lets no forgery through. */
export const signatureForm: Probe = async (run) => {
  const findings = [];
  for (const [how, write] of FORMS) {
    const { id, body } = run.event();
    const answer = await run.send(body, { signature: write(run.sign(body)) });
    const sent = `order.created, id ${id}, ${how}`;
    findings.push(isTaken(answer) ? warning(sent, answer, LENIENT) : notRefused(sent, answer, null, LENIENT));
  }
  return outcome(findings);
};
