import { boundToHere } from '../host/own-context.ts';
import { clearTimeout, performance, setTimeout } from '../host/real-timers.ts';
import { ConfigurationError, nameOf } from '../errors.ts';
import { ephemeralHost } from '../host/files.ts';
import { signingKeys, type Secrets, type SigningKey } from './signature.ts';

export type { Secrets } from './signature.ts';

/** Loads the secrets, for example from a secret manager. */
export type SecretProvider = () => Secrets | Promise<Secrets>;

/**
 * The values that `secret` accepts. `undefined` is in the type so that `process.env.SIGNING_SECRET` compiles; at run
 * time, `undefined` causes `UNUSABLE_SECRET`.
 */
export type SecretOption = Secrets | SecretProvider | undefined;

/** Where a verifier gets its keys from. */
export interface KeySource {
  /** The keys of now, or `null` when there are none to be had. Synchronous whenever it can be. */
  current(): readonly SigningKey[] | null | Promise<readonly SigningKey[] | null>;
  /** Fresh keys after a mismatch, or `null` when asking again is not due or brought nothing. */
  afterMismatch(): Promise<readonly SigningKey[] | null>;
}

const MINUTE_MS = 60_000;
/** A provider is asked again once a value is this old. */
const REFRESH_MS = MINUTE_MS;
/**
 * A mismatch may be a rotation, and without any key nothing comes in: both ask sooner, but no flood of deliveries makes it
 * ask more often than this.
 */
const SOONEST_MS = 5_000;
/** The last good value serves this long while the provider fails. */
const LAST_GOOD_MS = 60 * MINUTE_MS;
const CALL_LIMIT_MS = 2_000;
/** By how much the timer of that limit may be late. */
const SLACK_MS = 500;

/**
 * Makes the `secret` option ready. A value is checked here and now; a provider is called at once, or with the first
 * delivery where nothing can run outside of one, and what it returns is checked each time.
 *
 * @throws ConfigurationError `UNUSABLE_SECRET`
 */
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
  let askedAt = -Infinity;
  let call: Promise<boolean> | null = null;
  // There, what a request has begun ends with it: a call in nobody's request would never come back.
  const frozen = ephemeralHost()?.frozenBetweenRequests ?? false;

  /**
   * One call at a time. All requests that need it wait for the same call, so it runs in no request's context. A call that has
   * run into its limit counts as ended, also where its timer was taken away with the request that began it.
   */
  const underWay = (): Promise<boolean> | null => (now() - askedAt <= CALL_LIMIT_MS + SLACK_MS ? call : null);

  /** Resolves with whether it brought keys. */
  const ask = boundToHere((): Promise<boolean> => {
    const before = underWay();
    if (before !== null) return before;
    askedAt = now();
    const asked = withLimit(provider)
      .then((secrets) => {
        keys = signingKeys(secrets);
        fetchedAt = now();
        return true;
      })
      .catch((failure: unknown) => {
        // A ConfigurationError describes a secret without quoting it. Any other text may quote it, as JSON.parse does.
        onFailure(failure instanceof ConfigurationError ? failure.message : `it failed with ${nameOf(failure)}`);
        return false;
      })
      .finally(() => {
        if (call === asked) call = null;
      });
    call = asked;
    return asked;
  });
  const mayAskNow = (): boolean => now() - askedAt >= SOONEST_MS;
  const lastGood = (): readonly SigningKey[] | null => (now() - fetchedAt <= LAST_GOOD_MS ? keys : null);

  if (!frozen) void ask();
  return {
    current() {
      const usable = lastGood();
      if (usable !== null) {
        if (now() - Math.max(fetchedAt, askedAt) < REFRESH_MS) return usable;
        if (frozen) return ask().then(lastGood);
        void ask();
        return usable;
      }
      // A call that never ended has told nothing: the next request asks again.
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
  if (!isThenable(provided)) return provided; // and no timer, which some hosts allow within requests only
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
