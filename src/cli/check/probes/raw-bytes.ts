import { notTaken, outcome, toldToWait, warning, type Advice } from '../judge-answers.ts';
import { tellsToWait } from '../told-to-wait.ts';
import type { Finding } from '../check-report.ts';
import type { CheckEvent, CheckRun } from '../check-run.ts';
import type { Probe } from './probe.ts';

const WRITES_IT_AGAIN: Advice = {
  why:
    'The signature covers the bytes that were sent. Parsing the body and writing it again changes these bytes (6.50 becomes ' +
    '6.5), so the authentic event is rejected and lost.',
  mend:
    'Compute the HMAC over the raw bytes, not over JSON.stringify(request.body). In Express, give the route ' +
    "express.raw({ type: '*/*' }) and mount it before express.json(). In Next.js, use await request.arrayBuffer().",
};
const CANNOT_READ_IT: Advice = {
  why: 'The body is well-formed JSON with the same values. The service may change how it formats JSON.',
  mend: 'Parse the raw bytes as UTF-8 with the JSON parser of your language.',
};

/** The same event, as JSON may also be written: parsing it and writing it again changes the bytes. */
const WAYS: readonly (readonly [how: string, write: (json: string) => string])[] = [
  ['with white space and a newline at the end', (json) => `${JSON.stringify(JSON.parse(json), null, 3)}\r\n`],
  [
    'with 6.50 instead of 6.5, and 3.005e1 instead of 30.05',
    (json) => json.replace(/"price":6\.5(?=[,}])/, '"price":6.50').replace(/"total":30\.05(?=[,}])/, '"total":3.005e1'),
  ],
  ['with unnecessary escapes', (json) => json.replace('"USD"', String.raw`"\u0055\u0053D"`)],
  ['with its keys in reverse order', (json) => JSON.stringify(reversed(JSON.parse(json) as object), null, 1)],
];

/** Sends events whose bytes change when they are parsed and written again. */
export const rawBytes: Probe = async (run) => {
  const findings = [];
  for (const [how, write] of WAYS) findings.push(await findingFor(run, rewritten(run, how, write)));
  return outcome(findings);
};

async function findingFor(run: CheckRun, event: CheckEvent): Promise<Finding | null> {
  const answer = await run.deliver(event);
  return notTaken(event.what, answer, answer.status === 401 ? WRITES_IT_AGAIN : CANNOT_READ_IT);
}

function rewritten(run: CheckRun, how: string, write: (json: string) => string): CheckEvent {
  const { id, body, what } = run.event();
  return run.eventOf(id, write(Buffer.from(body).toString()), `${what}, ${how}`);
}

function reversed(value: object): object {
  return Object.fromEntries(Object.entries(value).toReversed());
}

const DECODES_FIRST: Advice = {
  why:
    'The signature was correct, but the endpoint computed its own signature over decoded text. Decoding replaces invalid UTF-8 ' +
    'and removes a byte order mark, so the endpoint does not verify the bytes that were sent.',
  mend:
    'Compute the HMAC over the raw bytes (a Buffer, not a string): hmac.update(body), not ' +
    'hmac.update(body.toString()).',
};
const STUMBLES: Advice = {
  why:
    'The endpoint threw an unexpected exception. The service treats this response as an outage and keeps sending the same ' +
    'bytes for a day.',
  mend: 'Catch the errors of the decoder and the parser, and return 400.',
};

/** Signed as sent: an endpoint that verifies the decoded text computes another signature. */
export const invalidUtf8: Probe = async (run) => {
  const { id, body, what } = run.event('order.created', { note: '#' });
  const bytes = Buffer.concat(split(Buffer.from(body), '#').flatMap((part, n) => (n === 0 ? part : [C3_28, part])));
  const event = run.eventOf(id, bytes, `${what}, with the invalid UTF-8 bytes C3 28 in a string`);
  const answer = await run.send(event.body);
  if (tellsToWait(answer)) return outcome([toldToWait(event.what, answer)]);
  if (answer.status === 401) return outcome([warning(event.what, answer, DECODES_FIRST)]);
  if (answer.status !== null && answer.status >= 500) return outcome([warning(event.what, answer, STUMBLES)]);
  // A 2xx may have stored the raw bytes, and a 4xx is what a strict reader says.
  return answer.status === null ? outcome([notTaken(event.what, answer)]) : outcome([], `returned ${answer.status}`);
};

const C3_28 = Buffer.from([0xc3, 0x28]);

function split(bytes: Buffer, at: string): readonly Buffer[] {
  const index = bytes.indexOf(at);
  return [bytes.subarray(0, index), bytes.subarray(index + at.length)];
}
