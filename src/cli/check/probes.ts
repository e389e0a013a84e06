import { eventTypes } from '../../events/event-types.ts';
import { tamperedSignature } from '../../sender/faults.ts';
import { isSuccess } from '../../sender/deliver.ts';
import {
  duplicateIn,
  duration,
  isAccepted,
  tellsToWait,
  type CheckEvent,
  type CheckRun,
  type Exchange,
} from './check-run.ts';
import {
  fault,
  late,
  notRejected,
  notAccepted,
  outcome,
  toldToWait,
  warning,
  type Advice,
  type Finding,
  type Probe,
  type ProbeOutcome,
} from './findings.ts';
import { burst, inTime, keepAlive, slowBody } from './load-probes.ts';
import type { ProbeName } from './probe-names.ts';
import { duplicates, duplicatesAtOnce, storedFirst } from './stored-once-probes.ts';

/** Makes a probe that sends authentic events. The endpoint must accept them. */
function accepts(events: (run: CheckRun) => readonly CheckEvent[], adviceFor: (answer: Exchange) => Advice): Probe {
  return async (run) => {
    const findings = [];
    for (const event of events(run)) {
      const answer = await run.deliver(event);
      findings.push(notAccepted(event.what, answer, adviceFor(answer)));
    }
    return outcome(findings);
  };
}

interface Forgery {
  readonly how: string;
  /** computes the signature that is sent, from the correct one */
  readonly signature: (right: string, run: CheckRun) => string | null;
  /** changes the signed text before it is sent */
  readonly changed?: (text: string) => string;
}

/** Makes a probe that sends forgeries. The endpoint must reject them. */
function rejects(forgeries: readonly Forgery[], accepted: Advice): Probe {
  return async (run) => {
    const findings = [];
    for (const { how, signature, changed = (text: string) => text } of forgeries) {
      const { id, body, text } = run.event();
      const sent = Buffer.from(changed(text));
      const answer = await run.send(sent, { signature: signature(run.sign(body), run) });
      findings.push(notRejected(`order.created, id ${id}, ${how}`, answer, run.sign(sent), accepted));
    }
    return outcome(findings);
  };
}

/** Judges an answer that must not be an outage: with a warning if its status gets advice, with a note otherwise. */
function byStatus(sent: string, answer: Exchange, adviceFor: (status: number) => Advice | null): Finding | null {
  if (answer.status === null) return notAccepted(sent, answer);
  if (tellsToWait(answer)) return toldToWait(sent, answer);
  const advice = adviceFor(answer.status);
  return advice === null ? null : warning(sent, answer, advice);
}

function noted(finding: Finding | null, note: string): ProbeOutcome {
  return outcome([finding], finding === null ? note : undefined);
}

/** A 2xx that is too late is no success; `in-time` judges one that is merely slow. */
const valid: Probe = async (run) => {
  const event = run.event();
  const answer = await run.deliver(event);
  if (!isAccepted(answer) || answer.status === null) return outcome([notAccepted(event.what, answer)]);
  const { deadlineMs } = run.settings;
  const note = answer.ended ? undefined : 'the response body was incomplete, so only its status was checked';
  return outcome([answer.ms > deadlineMs ? late(event.what, answer.ms, deadlineMs) : null], note);
};

/** The same event in forms of JSON that change if an endpoint parses it and writes it again. */
const FORMS: readonly (readonly [how: string, write: (json: string) => string])[] = [
  ['with white space and a newline at the end', (json) => `${JSON.stringify(JSON.parse(json), null, 3)}\r\n`],
  [
    'with 6.50 instead of 6.5, and 3.005e1 instead of 30.05',
    (json) => json.replace(/"price":6\.5(?=[,}])/, '"price":6.50').replace(/"total":30\.05(?=[,}])/, '"total":3.005e1'),
  ],
  ['with unnecessary escapes', (json) => json.replace('"USD"', String.raw`"\u0055\u0053D"`)],
  [
    'with its keys in reverse order',
    (json) => JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json) as object).toReversed()), null, 1),
  ],
];

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

const DECODES_FIRST: Advice = {
  why:
    'The signature was correct, but the endpoint computed its own signature over decoded text. Decoding replaces invalid UTF-8 ' +
    'and removes a byte order mark, so the endpoint does not verify the bytes that were sent.',
  mend: 'Compute the HMAC over the raw bytes (a Buffer, not a string): hmac.update(body), not hmac.update(body.toString()).',
};
const STUMBLES: Advice = {
  why:
    'The endpoint threw an unexpected exception. The service treats this response as an outage and keeps sending the same ' +
    'bytes for a day.',
  mend: 'Catch the errors of the decoder and the parser, and return 400.',
};

/** An endpoint that verifies the decoded text computes another signature. */
const invalidUtf8: Probe = async (run) => {
  const { text, what } = run.event('order.created', { note: '#' });
  const [before = '', after = ''] = text.split('#', 2);
  const body = Buffer.concat([Buffer.from(before), Buffer.from([0xc3, 0x28]), Buffer.from(after)]);
  const answer = await run.send(body);
  const sent = `${what}, with the invalid UTF-8 bytes C3 28 in a string`;
  // A 2xx may have stored the raw bytes, and a 4xx is what a strict reader says.
  const finding = byStatus(sent, answer, (s) => (s === 401 ? DECODES_FIRST : s >= 500 ? STUMBLES : null));
  return noted(finding, `returned ${answer.status}`);
};

const COMPARE =
  "createHmac('sha256', secret).update(rawBody).digest('hex'), compared with the header by crypto.timingSafeEqual";

const UNSIGNED: Advice = {
  why: 'A sender who knows only the URL can send events that you accept.',
  mend: 'Return 401 if X-Signature is missing or empty. Never skip verification because the signature is missing.',
};
const NOT_COMPARED: Advice = {
  why: 'The signature has no effect. A sender who knows only the URL can send events that you accept.',
  mend: `Return 401 unless the whole signature matches: ${COMPARE}.`,
};
const BODY_NOT_COVERED: Advice = {
  why: 'An attacker who has seen one delivery can change values in it, for example the total of an order.',
  mend: `For each delivery, compute the signature over the whole body: ${COMPARE}.`,
};

const LENIENT: Advice = {
  why:
    'The contract requires 64 lowercase hex digits, and a 401 for any other value. Buffer.from(header, "hex"), for ' +
    'example, stops silently at the first character that is not a hex digit. (This is only a warning: the ' +
    'value had the right digits, so no forgery passes.)',
  mend: `Reject a value that does not match /^[0-9a-f]{64}$/, then compare the whole value: ${COMPARE}.`,
};

/** The right digits in forms that the contract does not know: an endpoint that accepts them lets no forgery pass. */
const signatureForm: Probe = async (run) => {
  const findings = [];
  for (const [how, write] of [
    ['with its signature in uppercase', (right: string) => right.toUpperCase()],
    ['with "sha256=" before its signature', (right: string) => `sha256=${right}`],
    ['with more characters after its signature', (right: string) => `${right}zz`],
  ] as const) {
    const { id, body } = run.event();
    const answer = await run.send(body, { signature: write(run.sign(body)) });
    const sent = `order.created, id ${id}, ${how}`;
    findings.push(isAccepted(answer) ? warning(sent, answer, LENIENT) : notRejected(sent, answer, null, LENIENT));
  }
  return outcome(findings);
};

function incomplete(run: CheckRun): { readonly id: string; readonly body: Uint8Array } {
  const { id, body } = run.event();
  return { id, body: body.subarray(0, -20) };
}

const TAKES_NONSENSE: Advice = {
  why: 'The 2xx confirms an event that you cannot read. (This is only a warning, because a sender needs the secret to send such a body.)',
  mend: 'Return 400 for a body that is not a JSON object with an id, unless you store the raw bytes of such a body.',
};
const THROWS_ON_NONSENSE: Advice = {
  why: 'The service treats this response as an outage and keeps sending the same bytes for a day. (This is only a warning, because a sender needs the secret to send such a body.)',
  mend: 'Verify the signature, then call JSON.parse in a try block, and return 400 if it throws.',
};

const malformedJson: Probe = async (run) => {
  const { id, body } = incomplete(run);
  const answer = await run.send(body);
  const adviceFor = (s: number): Advice | null => (s >= 500 ? THROWS_ON_NONSENSE : s < 400 ? TAKES_NONSENSE : null);
  const finding = byStatus(`incomplete JSON, id ${id}, correctly signed`, answer, adviceFor);
  return noted(finding, `returned ${answer.status}`);
};

const PARSES_FIRST: Advice = {
  why:
    'The endpoint parsed the body before it verified the signature. Unverified bytes reach the ' +
    'parser and the code behind it, and the verified bytes may differ from the bytes that were sent.',
  mend:
    "Verify the raw bytes first, then call JSON.parse. In Express, give the route express.raw({ type: '*/*' }), not express.json(). " +
    'If no later code uses the parsed body, as with hookbox, it is enough to keep the raw bytes in the verify function of express.json().',
};
/** docs/adapters.md says the same. */
const PARSER_BEFORE_HOOKBOX: Advice = {
  why:
    'A parser that runs before hookbox rejects the body, so the response differs from the response to a forgery. No event is ' +
    'harmed: hookbox verifies, stores and handles the raw bytes, not the result of the parser.',
  mend: 'If the parser must run first, change nothing. Otherwise, mount the route before the parser, as in docs/adapters.md.',
};
const TAKES_FORGERIES: Advice = {
  why: 'The endpoint accepted a body that is neither authentic nor JSON.',
  mend: 'Verify the signature over the raw bytes, and return 401 if it does not match.',
};

/** Only an endpoint that parses before it verifies can tell it from another forgery. */
const forgedMalformedJson: Probe = async (run) => {
  const { id, body } = incomplete(run);
  const signature = run.sign(run.event().body);
  const sent = `incomplete JSON, id ${id}, with a wrong signature`;
  const answer = await run.send(body, { signature });
  if (isAccepted(answer) || answer.status === null || answer.status === 401) {
    return outcome([notRejected(sent, answer, run.sign(body), TAKES_FORGERIES)]);
  }
  if (tellsToWait(answer)) return outcome([toldToWait(sent, answer)]);
  // Some return 400 for every forgery: a wrong status, but no sign of parsing.
  const control = await run.send(run.event().body, { signature });
  if (tellsToWait(control))
    return outcome([toldToWait(`${sent}, and then valid JSON with the same wrong signature`, control)]);
  if (answer.status === control.status) return outcome([notRejected(sent, answer, run.sign(body), PARSES_FIRST)]);
  const isHarmless = answer.status < 500 && control.status === 401 && (await isHookbox(run));
  return outcome([isHarmless ? warning(sent, answer, PARSER_BEFORE_HOOKBOX) : fault(sent, answer, PARSES_FIRST)]);
};

/** hookbox takes the bytes that it verifies. */
async function isHookbox(run: CheckRun): Promise<boolean> {
  const { id, body } = run.event();
  return duplicateIn(await run.send(body), id) !== null;
}

const TAKES_GET: Advice = {
  why: 'The service never uses GET. A 2xx for a GET makes monitors and people believe that deliveries work, even when they fail.',
  mend:
    'Mount the route only for POST, and return 405 for other methods. If you serve a page of your own at this ' +
    'address, ignore this warning.',
};
const TAKES_PUT: Advice = {
  why: 'The service uses POST. A request with a different method can bypass checks that guard only POST. (This is only a warning, because the request was correctly signed.)',
  mend: 'Mount the route only for POST: app.post, not app.use or app.all.',
};
const LOOKS_LIKE_OUTAGE: Advice = {
  why: 'The endpoint rejects the request, but its status looks like an outage or a moved page.',
  mend: 'Return 405 or 404 for methods other than POST.',
};

/** A GET, as browsers and monitors send it, and a delivery that is PUT. */
const otherMethods: Probe = async (run) => {
  const { id, body } = run.event();
  const got = await run.send(new Uint8Array(), { method: 'GET', signature: null });
  const put = await run.send(body, { method: 'PUT' });
  const adviceFor = (taken: Advice) => (status: number) => {
    if (isSuccess(status)) return taken;
    return (status >= 400 && status < 500) || status === 501 ? null : LOOKS_LIKE_OUTAGE;
  };
  return outcome([
    byStatus('GET', got, adviceFor(TAKES_GET)),
    byStatus(`PUT, order.created, id ${id}, correctly signed`, put, adviceFor(TAKES_PUT)),
  ]);
};

const NO_ANSWER: Advice = {
  why: 'A connection that is reset or hangs looks like an outage. The sender cannot see that the event was too large.',
  mend:
    'Return 413 and keep reading for a moment, so that a client that is still writing receives the response. Do ' +
    'not call request.destroy() at the limit.',
};
const NOT_TOO_LARGE: Advice = {
  why: 'The event was authentic, but the response does not say that the event was too large.',
  mend: 'Accept the event, or return 413. In Express, the default limit of express.raw({ limit }) is 100 KiB.',
};

/** Makes a probe that sends a large event. The endpoint may reject the event, but must answer. */
function sized(mebibytes: number): Probe {
  return async (run) => {
    const bytes = mebibytes * 1024 * 1024;
    const { id, text } = run.event('order.created', { padding: '' });
    const padding = 'x'.repeat(bytes - Buffer.byteLength(text));
    const answer = await run.send(Buffer.from(text.replace('"padding":""', `"padding":"${padding}"`)));
    const sent = `order.created of ${bytes} bytes, id ${id}, correctly signed`;
    if (answer.status === null) return outcome([fault(sent, answer, NO_ANSWER)]);
    const isRight = isAccepted(answer) || answer.status === 413;
    const finding = isRight ? null : warning(sent, answer, NOT_TOO_LARGE);
    return noted(finding, `returned ${answer.status} after ${duration(answer.ms)}`);
  };
}

export const RUN: Readonly<Record<ProbeName, Probe>> = {
  valid,
  'every-type': accepts(
    (run) => eventTypes.map((type) => run.event(type)),
    () => ({
      why: 'This is one of the eleven types of the service. The service retries a rejected event for about a day. Then the event is lost.',
      mend:
        'Return a 2xx for every authentic event, even if you do not use its type. Or, in the dashboard, ' +
        'deselect the types that you do not use.',
    }),
  ),
  'unknown-type': accepts(
    (run) => [run.event('order.created', { type: 'order.refunded' })],
    () => ({
      why:
        'The service may add types at any time. It would retry each event of a new type for a day, and then the event ' +
        'would be lost.',
      mend: 'Store events of unknown types and return a 2xx. If your code has a switch on the type, add a default case that does nothing.',
    }),
  ),
  'additional-fields': accepts(
    (run) => {
      const event = run.event('order.created', {
        api_version: '2',
        livemode: false,
        related: { ids: ['ord_1', null] },
      });
      return [{ ...event, what: `${event.what}, with unknown fields` }];
    },
    () => ({
      why: 'The service may add fields at any time. Your endpoint would then reject every event.',
      mend: 'Allow unknown fields in the schema: remove additionalProperties: false, and do not use strict objects.',
    }),
  ),
  'raw-bytes': accepts(
    (run) =>
      FORMS.map(([how, write]) => {
        const { id, text, what } = run.event();
        return { id, body: Buffer.from(write(text)), what: `${what}, ${how}` };
      }),
    ({ status }) => (status === 401 ? WRITES_IT_AGAIN : CANNOT_READ_IT),
  ),
  'invalid-utf8': invalidUtf8,
  unsigned: rejects(
    [
      { how: 'without X-Signature', signature: () => null },
      { how: 'with an empty X-Signature', signature: () => '' },
    ],
    UNSIGNED,
  ),
  'tampered-body': rejects(
    [
      {
        how: 'with a number changed after signing',
        signature: (right) => right,
        changed: (text) => text.replace('"total":30.05', '"total":99.05'),
      },
    ],
    BODY_NOT_COVERED,
  ),
  'tampered-signature': rejects(
    [
      { how: 'with one digit of its signature changed', signature: (right) => tamperedSignature(right, 1) },
      { how: 'with only the first 32 digits of its signature', signature: (right) => right.slice(0, 32) },
    ],
    NOT_COMPARED,
  ),
  'foreign-signature': rejects(
    [{ how: 'with the signature of a different event', signature: (_, run) => run.sign(run.event().body) }],
    BODY_NOT_COVERED,
  ),
  'signature-form': signatureForm,
  'malformed-json': malformedJson,
  'forged-malformed-json': forgedMalformedJson,
  'other-methods': otherMethods,
  'stored-first': storedFirst,
  duplicates,
  'duplicates-at-once': duplicatesAtOnce,
  'one-mebibyte': sized(1),
  'two-mebibytes': sized(2),
  'slow-body': slowBody,
  'keep-alive': keepAlive,
  burst,
  'in-time': inTime,
};
