import { askToWait, LATE, startDeadline, withinDeadline, type Deadline } from '../host/host-limits.ts';
import { ConfigurationError } from '../errors.ts';
import type { InvalidEvent, UnknownEvent, WebhookEvent } from '../events/webhook-event.ts';
import { readEvent, type EventFacts } from '../events/parse.ts';
import { loggerOf, type Logger } from '../host/logger.ts';
import { assertOptions, positive, MAX_TIMER_MS, type RulesFor } from '../option-rules.ts';
import { keySource, type KeySource, type SecretOption } from '../signing/secrets.ts';
import { isWellFormedSignature, matchingKey, type SigningKey } from '../signing/signature.ts';
import type { BodyRead, Delivery } from './delivery.ts';
import {
  type Reason,
  type ErrorOutcome,
  bodyOf,
  isErrorOutcome,
  nameAndCode,
  reportedErrorOutcomes,
  type ErrorFacts,
} from './outcome.ts';
import { ReadingRoom, type Reading } from './body-memory.ts';

/** The options of {@link createVerifier}. */
export interface VerifierOptions {
  /**
   * The signing secret of the endpoint: text or bytes. Pass several secrets during a rotation; `undefined` entries are
   * skipped. Or pass a function that loads the secrets. hookbox calls it when the receiver or verifier is created (on hosts
   * that freeze between requests, with the first delivery), and then at most once a minute. After a mismatch, or without a
   * secret, hookbox calls it sooner, but not within 5 s of the previous call.
   */
  readonly secret?: SecretOption;
  /**
   * `true` accepts deliveries without a signature: anyone who knows the URL can then send events. Only for an account
   * without a signing secret.
   *
   * @defaultValue `false`
   */
  readonly unsafeUnsigned?: boolean;
  /**
   * The largest accepted body, in bytes.
   *
   * @defaultValue 1,048,576 (1 MiB)
   */
  readonly maxBodyBytes?: number;
  /**
   * The memory for all bodies that are arriving or being verified, in bytes. At least `maxBodyBytes`. Above this limit, the
   * newest deliveries get a 503. One eighth is reserved for bodies of up to 64 KiB.
   *
   * @defaultValue 67,108,864 (64 MiB)
   */
  readonly maxReadingBytes?: number;
  /**
   * The time within which each delivery is answered, in milliseconds. The service waits 10 s for a response.
   *
   * @defaultValue 9,000
   */
  readonly deadlineMs?: number;
  /**
   * The logger for rejections, failures and the results of events; `false` for no log.
   *
   * @defaultValue the console, for warnings and errors only
   */
  readonly logger?: Logger | false;
}

/** An authentic delivery with its event, which is typed or invalid. */
export interface VerifiedDelivery {
  readonly body: Uint8Array;
  /** The value of `X-Signature`, to verify the body again elsewhere. `null` if no signature was required. */
  readonly signature: string | null;
  readonly verified: boolean;
  readonly id: string;
  readonly event: WebhookEvent | UnknownEvent | InvalidEvent;
  readonly facts: EventFacts;
}

/** The result of your function for a verified delivery. */
export interface Passed<T> {
  readonly passed: T;
  readonly id: string;
}

/** Reads, verifies and parses deliveries. A verifier does not store deliveries. */
export interface Verifier {
  readonly logger: Logger;
  /** Starts the deadline of a delivery: `deadlineMs` from now, or sooner if the host of the receiver allows less. */
  startDeadline(delivery: Pick<Delivery, 'host'> | null | undefined): Deadline;
  /**
   * Returns the verified delivery, or the rejection to send as the response.
   *
   * @param deadline - the body must have arrived by then; a new deadline is started by default
   * @throws TypeError if the body is not bytes
   */
  verify(delivery: Delivery, deadline?: Deadline): Promise<VerifiedDelivery | ErrorOutcome>;
  /**
   * Verifies a delivery and passes it to your function, within one deadline.
   *
   * @returns the result of your function, or the rejection to send: the delivery is not authentic, or your function threw or
   * was late
   */
  passOn<T>(
    delivery: Delivery,
    passOn: (verified: VerifiedDelivery) => T | Promise<T>,
  ): Promise<ErrorOutcome | Passed<T>>;
  /** Returns the part of a rejected delivery's body that was read, or `null`. */
  bodyOf(outcome: ErrorOutcome): Uint8Array | null;
  /** Builds the rejection for a reason and logs it. The `cause` appears only in the log. */
  reject(reason: Reason, more?: ErrorFacts): ErrorOutcome;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_READING_BYTES = 64 * 1024 * 1024;
const DEADLINE_MS = 9_000;

export const VERIFIER_OPTIONS: RulesFor<VerifierOptions> = {
  secret: true,
  unsafeUnsigned: 'boolean',
  maxBodyBytes: positive(),
  maxReadingBytes: positive(),
  deadlineMs: positive(MAX_TIMER_MS),
  logger: true,
};

/**
 * Creates a verifier, which checks deliveries but does not store them.
 *
 * @throws ConfigurationError `UNUSABLE_SECRET` or `INVALID_OPTION`
 */
export function createVerifier(options: VerifierOptions): Verifier {
  assertOptions('webhookVerifier', options, VERIFIER_OPTIONS);
  return verifierOf(options);
}

export function verifierOf(options: VerifierOptions, onMatch: (key: SigningKey) => void = () => {}): Verifier {
  const { maxBodyBytes: maxBytes = MAX_BODY_BYTES, deadlineMs = DEADLINE_MS } = options;
  const room = new ReadingRoom(maxBytes, mostHeld(options.maxReadingBytes, maxBytes));
  const logger = loggerOf(options.logger);
  const keys = chosenKeys(options, logger);
  const reject = reportedErrorOutcomes(logger);
  const startDeliveryDeadline: Verifier['startDeadline'] = (delivery) => startDeadline(deadlineMs, delivery?.host);

  function formFault(signature: Delivery['signature']): Reason | null {
    if (keys === 'unsigned') return null;
    if (signature === null || signature === undefined || signature === '') return 'signature-missing';
    return isWellFormedSignature(signature) ? null : 'signature-malformed';
  }

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

  /** The same order for every adapter: the head, before any of the body is kept; size, memory and time; the signature; the content. */
  async function verify(delivery: Delivery, deadline: Deadline): Promise<VerifiedDelivery | ErrorOutcome> {
    if (delivery.method !== undefined && delivery.method !== 'POST') return reject('method-not-allowed');
    if (typeof delivery.body !== 'function') assertBytes(delivery.body);
    const malformed = formFault(delivery.signature);
    if (malformed !== null) return reject(malformed);

    const reading = room.open();
    try {
      return await verifyBody(delivery, await readBody(delivery.body, maxBytes, reading, deadline), deadline);
    } finally {
      // The body is not verified yet, and verifying may wait for the secret.
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
    if (read.ended === 'consumed') return reject('body-consumed', { fix: read.fix });
    if (read.ended !== 'complete') return reject(UNREAD[read.ended]);

    const fault = await signatureFault(read.bytes, claimed, deadline);
    const { bytes: body } = read;
    if (fault === 'signature-mismatch' && read.mismatchFix !== undefined) {
      return reject('body-consumed', { fix: read.mismatchFix, body });
    }
    const isEncoded = !isIdentity(contentEncoding);
    if (fault !== null) return reject(fault, { body, ...(isEncoded && { fix: ENCODED }) });

    const { parsed, facts } = readEvent(body);
    if (facts === null && isEncoded) return reject('encoding-unsupported', { body });
    if (facts === null) return reject('not-an-event', { details: parsed.issues.map(asDetail), body });
    const event = parsed.ok ? parsed.event : { id: parsed.id, type: null, issues: parsed.issues };
    const signature = keys === 'unsigned' ? null : (claimed ?? null);
    return { body, signature, verified: keys !== 'unsigned', id: event.id, event, facts };
  }

  return {
    logger,
    reject,
    bodyOf,
    startDeadline: startDeliveryDeadline,
    verify: (delivery, given) => (given === undefined ? verifyInTime(delivery) : verify(delivery, given)),
    async passOn(delivery, passOn) {
      const deadline = startDeliveryDeadline(delivery);
      try {
        const verified = await verify(delivery, deadline);
        if (isErrorOutcome(verified)) return verified;
        const work = (async () => passOn(verified))();
        try {
          const passed = await withinDeadline(work, deadline);
          if (passed !== LATE) return { passed, id: verified.id };
        } catch (thrown) {
          return reject('not-passed-on', { error: nameAndCode(thrown) });
        }
        askToWait(delivery.host?.waitUntil, Promise.allSettled([work]));
        return reject('not-passed-on-in-time');
      } catch (cause) {
        return reject('internal', { cause });
      } finally {
        deadline.met();
      }
    },
  };
}

const ENCODED =
  'the request has a Content-Encoding, so a proxy may have compressed the body after it was signed: turn ' +
  'compression off for this path';

const UNREAD = {
  'too-large': 'body-too-large',
  'tiny-chunks': 'body-in-tiny-chunks',
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
    // A reader stops itself; this limit is for one that does not.
    const read = await Promise.race([body({ maxBytes, late, buffer: reading }), late]);
    if (reading.isRefused) return { ended: 'no-room' };
    if (typeof read === 'string') return { ended: read };
    if (read.ended !== 'complete') return read;
    assertBytes(read.bytes);
    return reading.holds(read.bytes.byteLength) ? read : { ended: 'no-room' };
  }
  if (body.byteLength > maxBytes) return { ended: 'too-large' };
  if (!reading.holds(body.byteLength)) return { ended: 'no-room' };
  // A copy, so that a caller who changes the buffer cannot change the verified bytes.
  return { ended: 'complete', bytes: Uint8Array.from(body) };
}

function mostHeld(maxReadingBytes: number | undefined, maxBytes: number): number {
  if (maxReadingBytes === undefined) return Math.max(MAX_READING_BYTES, maxBytes);
  if (maxReadingBytes >= maxBytes) return maxReadingBytes;
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
