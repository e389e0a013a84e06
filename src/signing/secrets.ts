import { boundToHere } from '../host/own-context.ts';
import { clearTimeout, performance, setTimeout } from '../host/real-timers.ts';
import { ConfigurationError, nameOf } from '../errors.ts';
import { ephemeralHost } from '../host/files.ts';
import { signingKeys, type Secrets, type SigningKey } from './signature.ts';

export type { Secrets } from './signature.ts';

/** Loads the secrets, for example from a secret manager. */
export type SecretProvider = () => Secrets | Promise<Secrets>;

/** The values that `secret` accepts. `undefined` is for `process.env.SIGNING_SECRET`; it causes `UNUSABLE_SECRET`. */
export type SecretOption = Secrets | SecretProvider | undefined;

export interface KeySource {
  current(): readonly SigningKey[] | null | Promise<readonly SigningKey[] | null>;
  afterMismatch(): Promise<readonly SigningKey[] | null>;
}

const MINUTE_MS = 60_000;
const REFRESH_MS = MINUTE_MS;
/** After a mismatch, or without a key. A flood of deliveries does not cause more calls. */
const SOONEST_MS = 5_000;
/** While the provider fails. */
const LAST_GOOD_MS = 60 * MINUTE_MS;
const CALL_LIMIT_MS = 2_000;
const SLACK_MS = 500;

/** On hosts that freeze between requests, a provider is first called with the first delivery. */
export function keySource(
  secret: SecretOption,
  onProviderFailure: (message: string) => void,
  now: () => number = () => performance.now(),
): KeySource {
  if (secret === undefined || secret === null) {
    throw new ConfigurationError(
      'UNUSABLE_SECRET',
      'secret is missing. Set it to the signing secret from the dashboard, for example through SIGNING_SECRET; ' +
        'for an account without a secret, set unsafeUnsigned: true.',
    );
  }
  if (typeof secret !== 'function') {
    const keys = signingKeys(secret);
    return { current: () => keys, afterMismatch: () => Promise.resolve(null) };
  }
  return providedKeys(secret, onProviderFailure, now);
}

function providedKeys(provider: SecretProvider, onFailure: (message: string) => void, now: () => number): KeySource {
  let keys: readonly SigningKey[] | null = null;
  let fetchedAt = -Infinity;
  let requestedAt = -Infinity;
  let call: Promise<boolean> | null = null;
  // A call outside of a request would never return there.
  const frozen = ephemeralHost()?.frozenBetweenRequests ?? false;

  /** All requests wait for one call, so it runs in no request's context. After its limit a call counts as ended, because its timer may have ended with its request. */
  const underWay = (): Promise<boolean> | null => (now() - requestedAt <= CALL_LIMIT_MS + SLACK_MS ? call : null);

  const ask = boundToHere((): Promise<boolean> => {
    const before = underWay();
    if (before !== null) return before;
    requestedAt = now();
    const requested = withLimit(provider)
      .then((secrets) => {
        keys = signingKeys(secrets);
        fetchedAt = now();
        return true;
      })
      .catch((failure: unknown) => {
        // The message of a ConfigurationError does not contain the secret. Other messages may, as those of JSON.parse do.
        onFailure(failure instanceof ConfigurationError ? failure.message : `it failed with ${nameOf(failure)}`);
        return false;
      })
      .finally(() => {
        if (call === requested) call = null;
      });
    call = requested;
    return requested;
  });
  const mayAskNow = (): boolean => now() - requestedAt >= SOONEST_MS;
  const lastGood = (): readonly SigningKey[] | null => (now() - fetchedAt <= LAST_GOOD_MS ? keys : null);

  if (!frozen) void ask();
  return {
    current() {
      const usable = lastGood();
      if (usable !== null) {
        if (now() - Math.max(fetchedAt, requestedAt) < REFRESH_MS) return usable;
        if (frozen) return ask().then(lastGood);
        void ask();
        return usable;
      }
      // A call that never ended is repeated with the next request.
      return call !== null || mayAskNow() ? ask().then(lastGood) : null;
    },
    async afterMismatch() {
      if (underWay() === null && !mayAskNow()) return null;
      const brought = await ask();
      return brought ? lastGood() : null;
    },
  };
}

async function withLimit(provider: SecretProvider): Promise<Secrets> {
  const provided = provider();
  if (!isThenable(provided)) return provided; // no timer, which some hosts allow only within requests
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ProviderTimeoutError()), CALL_LIMIT_MS);
  });
  try {
    return await Promise.race([provided, limit]);
  } finally {
    clearTimeout(timer);
  }
}

class ProviderTimeoutError extends Error {
  override readonly name = `no answer within ${CALL_LIMIT_MS} ms`;
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
