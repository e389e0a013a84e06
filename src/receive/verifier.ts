import { LATE, startDeadline, withinDeadline, type Deadline } from '../host/deadline.ts';
import { ConfigurationError } from '../errors.ts';
import type { InvalidEvent, UnknownEvent, WebhookEvent } from '../events/webhook-event.ts';
import { readEvent, type EventFacts } from '../events/parse.ts';
import { loggerOf, type Logger } from '../host/logger.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { MAX_TIMER_MS, positive } from '../number-option.ts';
import { keySource, type KeySource, type SecretOption } from '../signing/secrets.ts';
import { isWellFormedSignature, matchingKey, type SigningKey } from '../signing/signature.ts';
import type { BodyRead, Delivery } from './delivery.ts';
import type { Reason, ErrorOutcome } from './outcome.ts';
import { passOnTo, type Passed } from './pass-on.ts';
import { readingRoom, type Reading } from './body-memory.ts';
import { bodyOf, isErrorOutcome, reportedErrorOutcomes, type ErrorFacts } from './error-outcomes.ts';

export interface VerifierOptions {
  /**
   * The endpoint's signing secret: text or bytes, several of them while a rotation is under way (one whose variable
   * is not set is left out), or a function that fetches them. A function is called at start and then once a minute at most; every 5 s after a mismatch, and while it
   * has not brought any key.
   */
  readonly secret?: SecretOption;
  /** For an account without a signing secret only: anyone who knows the URL can then send events. */
  readonly unsafeUnsigned?: boolean;
  /** The largest body that is accepted, in bytes; 1 MiB unless set. */
  readonly maxBodyBytes?: number;
  /**
   * The most memory, in bytes, that bodies take together while they arrive and are verified; 64 MiB unless set, and at
   * least `maxBodyBytes`. Beyond it the newest of them is answered 503, and those that began before go on. An eighth of it
   * is left to bodies of up to 64 KiB.
   */
  readonly maxReadingBytes?: number;
  /** Every delivery is answered within this many milliseconds; 9,000 unless set, under the service's 10 s. */
  readonly deadlineMs?: number;
  /**
   * Where rejections, failures and what becomes of events are reported; warnings and errors go to the console unless set.
   * `false` for silence.
   */
  readonly logger?: Logger | false;
}

/** A delivery whose bytes are authentic and hold an event, typed or invalid. */
export interface VerifiedDelivery {
  readonly body: Uint8Array;
  /** the value of `X-Signature`, so that the body can be verified again elsewhere; `null` where none was needed */
  readonly signature: string | null;
  readonly verified: boolean;
  readonly id: string;
  readonly event: WebhookEvent | UnknownEvent | InvalidEvent;
  readonly facts: EventFacts;
}

/** The first half of a delivery's way: read, verify, parse. */
export interface Verifier {
  readonly logger: Logger;
  /** Until when this delivery has to be answered: `deadlineMs` from now, or sooner where its host allows less. */
  startDeadline(delivery: Pick<Delivery, 'host'> | null | undefined): Deadline;
  /**
   * @param deadline - until then the body has to be there; one of its own is started unless given
   * @throws TypeError for a body that is not bytes
   */
  verify(delivery: Delivery, deadline?: Deadline): Promise<VerifiedDelivery | ErrorOutcome>;
  /**
   * Verifies a delivery and gives it to the merchant's own function, within one deadline.
   *
   * @returns what the function has resolved with, or the refusal to answer with: also when it threw, or was not done in time
   */
  passOn<T>(
    delivery: Delivery,
    passOn: (verified: VerifiedDelivery) => T | Promise<T>,
  ): Promise<ErrorOutcome | Passed<T>>;
  /** What was read of the body of a delivery that was refused, if it was. */
  bodyOf(refusal: ErrorOutcome): Uint8Array | null;
  /** The refusal for a reason, reported to the logger; `cause` goes there only. */
  refuse(reason: Reason, more?: ErrorFacts): ErrorOutcome;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_READING_BYTES = 64 * 1024 * 1024;
const DEADLINE_MS = 9_000;

/** Those of everything that verifies. */
export const VERIFIER_OPTIONS: KnownOptions<VerifierOptions> = {
  secret: true,
  unsafeUnsigned: 'boolean',
  maxBodyBytes: true,
  maxReadingBytes: true,
  deadlineMs: true,
  logger: true,
};

/** @throws ConfigurationError for a secret or a limit that cannot work, and for options that there are not */
export function createVerifier(options: VerifierOptions): Verifier {
  assertOptions('webhookVerifier', options, VERIFIER_OPTIONS);
  return verifierOf(options);
}

/**
 * One whose options were looked at.
 *
 * @param onMatch - told the key of each signature that is right
 * @throws ConfigurationError for values that cannot work
 */
export function verifierOf(options: VerifierOptions, onMatch: (key: SigningKey) => void = () => {}): Verifier {
  const maxBytes = positive('maxBodyBytes', options.maxBodyBytes ?? MAX_BODY_BYTES);
  const room = readingRoom(maxBytes, mostHeld(options.maxReadingBytes, maxBytes));
  const deadlineMs = positive('deadlineMs', options.deadlineMs ?? DEADLINE_MS, MAX_TIMER_MS);
  const logger = loggerOf(options.logger);
  const keys = chosenKeys(options, logger);
  const refuse = reportedErrorOutcomes(logger);
  const startDeliveryDeadline: Verifier['startDeadline'] = (delivery) => startDeadline(deadlineMs, delivery?.host);

  /** What the head alone tells of a signature. */
  function formFault(signature: Delivery['signature']): Reason | null {
    if (keys === 'unsigned') return null;
    if (signature === null || signature === undefined || signature === '') return 'signature-missing';
    return isWellFormedSignature(signature) ? null : 'signature-malformed';
  }

  /** `null` when the signature is right, or when this receiver takes unsigned deliveries. */
  async function signatureFault(
    body: Uint8Array,
    signature: Delivery['signature'],
    deadline: Deadline,
  ): Promise<Reason | null> {
    if (keys === 'unsigned') return null;
    const now = keys.current();
    const current = now instanceof Promise ? await withinDeadline(now, deadline) : now;
    if (current === null || current === LATE) return 'no-secret';
    if (matches(body, signature, current)) return null;
    const fresh = await withinDeadline(keys.afterMismatch(), deadline);
    if (fresh === LATE) return 'no-secret';
    return fresh !== null && matches(body, signature, fresh) ? null : 'signature-mismatch';
  }

  function matches(body: Uint8Array, signature: Delivery['signature'], current: readonly SigningKey[]): boolean {
    const key = matchingKey(body, signature, current);
    if (key !== null) onMatch(key);
    return key !== null;
  }

  /**
   * The order of the checks, the same for every adapter. What the head tells comes first (method, the form of the
   * signature), before anything is kept of the body; then, while it arrives, its size, the room and the time; then
   * the signature, and last what the bytes say.
   */
  async function verify(delivery: Delivery, deadline: Deadline): Promise<VerifiedDelivery | ErrorOutcome> {
    if (delivery.method !== undefined && delivery.method !== 'POST') return refuse('method-not-allowed');
    if (typeof delivery.body !== 'function') assertBytes(delivery.body);
    const malformed = formFault(delivery.signature);
    if (malformed !== null) return refuse(malformed);

    const reading = room.open();
    try {
      return await verifyBody(delivery, await readBody(delivery.body, maxBytes, reading, deadline), deadline);
    } finally {
      // Only now: until it is verified, anyone may have sent the body, and verifying may wait for the secret.
      reading.close();
    }
  }

  async function verifyInTime(delivery: Delivery): Promise<VerifiedDelivery | ErrorOutcome> {
    const deadline = startDeliveryDeadline(delivery);
    try {
      return await verify(delivery, deadline);
    } finally {
      deadline.met();
    }
  }

  async function verifyBody(
    { signature: claimed, contentEncoding }: Delivery,
    read: BodyRead,
    deadline: Deadline,
  ): Promise<VerifiedDelivery | ErrorOutcome> {
    if (read.ended === 'consumed') return refuse('body-consumed', { fix: read.fix });
    if (read.ended !== 'complete') return refuse(UNREAD[read.ended]);

    const fault = await signatureFault(read.bytes, claimed, deadline);
    const { bytes: body } = read;
    if (fault === 'signature-mismatch' && read.doubt !== undefined) {
      return refuse('body-consumed', { fix: read.doubt, body });
    }
    const isEncoded = !isIdentity(contentEncoding);
    if (fault !== null) return refuse(fault, { body, ...(isEncoded && { fix: ENCODED }) });

    const { parsed, facts } = readEvent(body);
    if (facts === null && isEncoded) return refuse('encoding-unsupported', { body });
    if (facts === null) return refuse('not-an-event', { details: parsed.issues.map(asDetail), body });
    const event = parsed.ok ? parsed.event : { id: parsed.id, type: null, issues: parsed.issues };
    const signature = keys === 'unsigned' ? null : (claimed ?? null);
    return { body, signature, verified: keys !== 'unsigned', id: event.id, event, facts };
  }

  return {
    logger,
    refuse,
    bodyOf,
    startDeadline: startDeliveryDeadline,
    verify: (delivery, given) => (given === undefined ? verifyInTime(delivery) : verify(delivery, given)),
    async passOn(delivery, passOn) {
      const deadline = startDeliveryDeadline(delivery);
      try {
        const verified = await verify(delivery, deadline);
        if (isErrorOutcome(verified)) return verified;
        return await passOnTo(passOn, verified, { deadline, host: delivery.host, refuse });
      } catch (cause) {
        return refuse('internal', { cause });
      } finally {
        deadline.met();
      }
    },
  };
}

const ENCODED =
  'the request has a Content-Encoding, so a proxy may have compressed the signed body: switch that off for this path';

const UNREAD = {
  'too-large': 'body-too-large',
  'in-crumbs': 'body-in-crumbs',
  'too-slow': 'body-too-slow',
  'no-room': 'body-no-room',
  aborted: 'body-incomplete',
  'not-base64': 'body-not-base64',
} as const satisfies Record<Exclude<BodyRead['ended'], 'complete' | 'consumed'>, Reason>;

async function readBody(
  body: Delivery['body'],
  maxBytes: number,
  reading: Reading,
  deadline: Deadline,
): Promise<BodyRead> {
  if (typeof body === 'function') {
    const late = Promise.race([deadline.passed.then(() => 'too-slow' as const), reading.crowdedOut]);
    // A reader stops by itself when it is late; the wait is bounded for one that does not.
    const read = await Promise.race([body({ maxBytes, late, buffer: reading }), late]);
    if (reading.isRefused) return { ended: 'no-room' };
    if (typeof read === 'string') return { ended: read };
    if (read.ended !== 'complete') return read;
    assertBytes(read.bytes);
    return reading.holds(read.bytes.byteLength) ? read : { ended: 'no-room' };
  }
  if (body.byteLength > maxBytes) return { ended: 'too-large' };
  if (!reading.holds(body.byteLength)) return { ended: 'no-room' };
  // A copy: what was verified is what is stored, whatever the caller does with its buffer.
  return { ended: 'complete', bytes: Uint8Array.from(body) };
}

/** @throws ConfigurationError `INVALID_OPTION` where one body alone would not fit */
function mostHeld(maxReadingBytes: number | undefined, maxBytes: number): number {
  if (maxReadingBytes === undefined) return Math.max(MAX_READING_BYTES, maxBytes);
  if (positive('maxReadingBytes', maxReadingBytes) >= maxBytes) return maxReadingBytes;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `maxReadingBytes must be at least maxBodyBytes (${maxBytes}), not ${maxReadingBytes}.`,
  );
}

function assertBytes(body: Uint8Array): void {
  if (body instanceof Uint8Array) return;
  throw new TypeError('body must be the raw body as a Uint8Array; a parsed or decoded body cannot be verified');
}

function isIdentity(encoding: string | null | undefined): boolean {
  return encoding === undefined || encoding === null || ['', 'identity'].includes(encoding.trim().toLowerCase());
}

function chosenKeys(options: VerifierOptions, logger: Logger): KeySource | 'unsigned' {
  if (options.unsafeUnsigned === true) {
    if (options.secret !== undefined) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        'Set either secret or unsafeUnsigned: true, not both. With a secret, remove unsafeUnsigned.',
      );
    }
    return 'unsigned';
  }
  return keySource(options.secret, (why) => logger.error({}, `the secret provider returned no secret: ${why}`));
}

function asDetail({ path, message }: { path: string; message: string }): { field: string; message: string } {
  return { field: path, message };
}
