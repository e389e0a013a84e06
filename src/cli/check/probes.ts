import { eventTypes, type EventType } from '../../events/event-types.ts';
import { tamperedSignature } from '../../sender/faults.ts';
import { isSuccess } from '../../sender/deliver.ts';
import { ADVICE, type Advice } from './advice.ts';
import { duplicateIn, duration, isAccepted, tellsToWait, type CheckRun, type Exchange } from './check-run.ts';
import {
  fault,
  late,
  notRejected,
  notAccepted,
  outcome,
  unjudged,
  warning,
  type Finding,
  type Probe,
} from './findings.ts';
import { burst, inTime, keepAlive, slowBody } from './load-probes.ts';
import type { ProbeName } from './probe-names.ts';
import { duplicates, duplicatesAtOnce, storedFirst } from './stored-once-probes.ts';

/** One delivery of a probe: a valid one of an order.created, except for the fields set here. */
interface Sent {
  readonly type?: EventType;
  readonly fields?: object;
  /** for the report, before and after the id */
  readonly what?: string;
  readonly how?: string;
  /** changes the text before it is signed */
  readonly written?: (text: string) => string | Uint8Array;
  /** changes the signed text */
  readonly changed?: (text: string) => string;
  readonly signature?: (right: string, run: CheckRun) => string | null;
}

/** @param hidden - the correct signature of the body that was sent */
type Judge = (sent: string, answer: Exchange, hidden: string, run: CheckRun) => Finding | null;

function sends(deliveries: readonly Sent[], judge: Judge, note?: (answer: Exchange) => string): Probe {
  return async (run) => {
    const findings = [];
    let answer: Exchange | undefined;
    for (const delivery of deliveries) {
      const { type, fields, how = 'correctly signed', written = asItIs, changed, signature = asItIs } = delivery;
      const event = run.event(type, fields);
      const signed = Buffer.from(written(event.text));
      const body = changed === undefined ? signed : Buffer.from(changed(event.text));
      answer = await run.send(body, { signature: signature(run.sign(signed), run) });
      const sent = `${delivery.what ?? event.type}, id ${event.id}, ${how}`;
      findings.push(judge(sent, answer, run.sign(body), run));
    }
    const isRight = findings.every((finding) => finding === null);
    return outcome(findings, isRight && answer !== undefined ? note?.(answer) : undefined);
  };
}

const asItIs = <Value>(value: Value): Value => value;

function accepts(deliveries: readonly Sent[], adviceFor: (answer: Exchange) => Advice): Probe {
  return sends(deliveries, (sent, answer, _, run) => {
    run.noteTime(answer, sent);
    return notAccepted(sent, answer, adviceFor(answer));
  });
}

function rejects(deliveries: readonly Sent[], accepted: Advice): Probe {
  return sends(deliveries, (sent, answer, hidden) => notRejected(sent, answer, hidden, accepted));
}

/** Judges a response that must not be an outage. A status with advice gets a warning. */
function byStatus(sent: string, answer: Exchange, adviceFor: (status: number) => Advice | null): Finding | null {
  if (answer.status === null) return notAccepted(sent, answer);
  if (tellsToWait(answer)) return unjudged(sent, answer);
  const advice = adviceFor(answer.status);
  return advice === null ? null : warning(sent, answer, advice);
}

/** A 2xx after the deadline is not a success; `in-time` judges one that is merely slow. */
const valid: Probe = async (run) => {
  const event = run.event();
  const answer = await run.deliver(event);
  if (!isAccepted(answer) || answer.status === null) return outcome([notAccepted(event.what, answer)]);
  const { deadlineMs } = run.settings;
  const note = answer.ended ? undefined : 'the response body was incomplete, so only its status was checked';
  return outcome([answer.ms > deadlineMs ? late(event.what, answer.ms, deadlineMs) : null], note);
};

const incomplete = (text: string): string => text.slice(0, -20);

/** Only an endpoint that parses before it verifies can distinguish this from another forgery. */
const forgedMalformedJson: Probe = async (run) => {
  const { id, text } = run.event();
  const body = Buffer.from(incomplete(text));
  const signature = run.sign(run.event().body);
  const sent = `incomplete JSON, id ${id}, with a wrong signature`;
  const answer = await run.send(body, { signature });
  if (isAccepted(answer) || answer.status === null || answer.status === 401) {
    return outcome([notRejected(sent, answer, run.sign(body), ADVICE.takesForgedNonsense)]);
  }
  if (tellsToWait(answer)) return outcome([unjudged(sent, answer)]);
  // Some endpoints return 400 for every forgery: a wrong status, but no sign of parsing.
  const control = await run.send(run.event().body, { signature });
  if (tellsToWait(control))
    return outcome([unjudged(`${sent}, and then valid JSON with the same wrong signature`, control)]);
  if (answer.status === control.status) {
    return outcome([notRejected(sent, answer, run.sign(body), ADVICE.parsesFirst)]);
  }
  const isHarmless = answer.status < 500 && control.status === 401 && (await isHookbox(run));
  return outcome([
    isHarmless ? warning(sent, answer, ADVICE.parserBeforeHookbox) : fault(sent, answer, ADVICE.parsesFirst),
  ]);
};

async function isHookbox(run: CheckRun): Promise<boolean> {
  const { id, body } = run.event();
  return duplicateIn(await run.send(body), id) !== null;
}

/** Sends a GET, as browsers and monitors do, and a delivery with PUT. */
const otherMethods: Probe = async (run) => {
  const { id, body } = run.event();
  const got = await run.send(new Uint8Array(), { method: 'GET', signature: null });
  const put = await run.send(body, { method: 'PUT' });
  const adviceFor = (taken: Advice) => (status: number) => {
    if (isSuccess(status)) return taken;
    return (status >= 400 && status < 500) || status === 501 ? null : ADVICE.outageForMethod;
  };
  return outcome([
    byStatus('GET', got, adviceFor(ADVICE.takesGet)),
    byStatus(`PUT, order.created, id ${id}, correctly signed`, put, adviceFor(ADVICE.takesPut)),
  ]);
};

function sized(mebibytes: number): Probe {
  const bytes = mebibytes * 1024 * 1024;
  const padded = (text: string): string =>
    text.replace('"padding":""', `"padding":"${'x'.repeat(bytes - Buffer.byteLength(text))}"`);
  const large = { what: `order.created of ${bytes} bytes`, fields: { padding: '' }, written: padded };
  return sends(
    [large],
    (sent, answer) => {
      if (answer.status === null) return fault(sent, answer, ADVICE.outageForLarge);
      return isAccepted(answer) || answer.status === 413 ? null : warning(sent, answer, ADVICE.otherThanLarge);
    },
    ({ status, ms }) => `returned ${status} after ${duration(ms)}`,
  );
}

function withInvalidUtf8(text: string): Uint8Array {
  const [before = '', after = ''] = text.split('#', 2);
  return Buffer.concat([Buffer.from(before), Buffer.from([0xc3, 0x28]), Buffer.from(after)]);
}

const reversed = (json: string): string =>
  JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json) as object).toReversed()), null, 1);

export const RUN: Readonly<Record<ProbeName, Probe>> = {
  valid,
  'every-type': accepts(
    eventTypes.map((type) => ({ type })),
    () => ADVICE.everyType,
  ),
  'unknown-type': accepts([{ fields: { type: 'order.refunded' } }], () => ADVICE.unknownType),
  'additional-fields': accepts(
    [
      {
        fields: { api_version: '2', livemode: false, related: { ids: ['ord_1', null] } },
        how: 'correctly signed, with unknown fields',
      },
    ],
    () => ADVICE.unknownFields,
  ),
  // Forms of JSON that change if an endpoint parses the event and writes it again.
  'raw-bytes': accepts(
    [
      {
        how: 'correctly signed, with white space and a newline at the end',
        written: (json) => `${JSON.stringify(JSON.parse(json), null, 3)}\r\n`,
      },
      {
        how: 'correctly signed, with 6.50 instead of 6.5, and 3.005e1 instead of 30.05',
        written: (json) =>
          json.replace(/"price":6\.5(?=[,}])/, '"price":6.50').replace(/"total":30\.05(?=[,}])/, '"total":3.005e1'),
      },
      {
        how: 'correctly signed, with unnecessary escapes',
        written: (json) => json.replace('"USD"', String.raw`"\u0055\u0053D"`),
      },
      { how: 'correctly signed, with its keys in reverse order', written: reversed },
    ],
    ({ status }) => (status === 401 ? ADVICE.writesAgain : ADVICE.cannotRead),
  ),
  // An endpoint that verifies the decoded text computes another signature.
  'invalid-utf8': sends(
    [
      {
        fields: { note: '#' },
        how: 'correctly signed, with the invalid UTF-8 bytes C3 28 in a string',
        written: withInvalidUtf8,
      },
    ],
    (sent, answer) =>
      // A 2xx may have stored the raw bytes, and a strict reader returns a 4xx.
      byStatus(sent, answer, (status) => {
        if (status === 401) return ADVICE.decodesFirst;
        return status >= 500 ? ADVICE.throwsOnBytes : null;
      }),
    ({ status }) => `returned ${status}`,
  ),
  unsigned: rejects(
    [
      { how: 'without X-Signature', signature: () => null },
      { how: 'with an empty X-Signature', signature: () => '' },
    ],
    ADVICE.unsigned,
  ),
  'tampered-body': rejects(
    [
      {
        how: 'with a number changed after signing',
        changed: (text) => text.replace('"total":30.05', '"total":99.05'),
      },
    ],
    ADVICE.bodyNotCovered,
  ),
  'tampered-signature': rejects(
    [
      { how: 'with one digit of its signature changed', signature: (right) => tamperedSignature(right, 1) },
      { how: 'with only the first 32 digits of its signature', signature: (right) => right.slice(0, 32) },
    ],
    ADVICE.notCompared,
  ),
  'foreign-signature': rejects(
    [{ how: 'with the signature of a different event', signature: (_, run) => run.sign(run.event().body) }],
    ADVICE.bodyNotCovered,
  ),
  // An endpoint that accepts the right digits in another form does not let a forgery pass.
  'signature-form': sends(
    [
      { how: 'with its signature in uppercase', signature: (right) => right.toUpperCase() },
      { how: 'with "sha256=" before its signature', signature: (right) => `sha256=${right}` },
      { how: 'with more characters after its signature', signature: (right) => `${right}zz` },
    ],
    (sent, answer) =>
      isAccepted(answer) ? warning(sent, answer, ADVICE.lenient) : notRejected(sent, answer, null, ADVICE.lenient),
  ),
  'malformed-json': sends(
    [{ what: 'incomplete JSON', written: incomplete }],
    (sent, answer) =>
      byStatus(sent, answer, (status) => {
        if (status >= 500) return ADVICE.throwsOnNonsense;
        return status < 400 ? ADVICE.takesNonsense : null;
      }),
    ({ status }) => `returned ${status}`,
  ),
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
