import { performance } from '../../host/real-timers.ts';

/** One try to log in. */
export interface LoginTry {
  /** the address that it comes from; `null` where it is not known: all of these are one source */
  readonly source: string | null;
  /** whose it is, or what stands for all tokens */
  readonly account: string;
  /** the name of a browser that has logged in to this account before */
  readonly browser: string | null;
}

/** Slows down those who guess. */
export interface LoginBrakes {
  /**
   * Runs `check`, unless it is too early. A try counts before it is checked and nothing is awaited in between, so tries that come
   * at once do not pass one another. Nobody is kept waiting here: who is too early is told when to come again.
   *
   * @param check - who it is, or `null` for credentials that are nobody's
   */
  attempt<T>(login: LoginTry, check: () => T | null): { readonly found: T | null } | { readonly waitMs: number };
}

/** Typing errors cost nothing. */
const FREE_FAILURES = 2;
const FIRST_DELAY_MS = 1_000;
/** For one source, and for one browser that is known: as long as an operator who has mistyped can bear. */
const SOURCE_DELAY_MS = 60_000;
/**
 * For an account that is tried from everywhere. It is short, and a source that was sent away because of it has one try when it is
 * over, however many others try: an attack on an account must not keep its owner out.
 */
const ACCOUNT_DELAY_MS = 10_000;
/** Without another failure for so long, all is forgotten. */
const FORGOTTEN_MS = 3_600_000;

/** Beyond so many the one that was quiet for longest is forgotten: what attackers name must not fill the memory. */
const MAX_SOURCES = 10_000;
const MAX_ACCOUNTS = 1_000;
const MAX_BROWSERS = 1_000;

interface Count {
  readonly failures: number;
  readonly lastAt: number;
  /** no try before */
  readonly until: number;
  /** the one account of a source, or source of an account, that all failures are about; `null` when they are several */
  readonly about: string | null;
  /** since when a source may try although others have used up the tries of an account */
  readonly turnAt: number | null;
}

/** @param now - monotonic, in ms */
export function createLoginBrakes(now: () => number = () => performance.now()): LoginBrakes {
  const sources = counts(MAX_SOURCES, SOURCE_DELAY_MS, now);
  const accounts = counts(MAX_ACCOUNTS, ACCOUNT_DELAY_MS, now);
  const browsers = counts(MAX_BROWSERS, SOURCE_DELAY_MS, now);

  /** How long a source without a known browser has to wait. */
  const waitOf = (source: string, account: string): number => {
    const own = sources.get(source);
    const ownWait = (own?.until ?? 0) - now();
    const busyFor = (accounts.get(account)?.until ?? 0) - now();
    if (ownWait > 0 || busyFor <= 0) return ownWait;
    const turnAt = own?.turnAt ?? now() + ACCOUNT_DELAY_MS;
    sources.keepTurn(source, turnAt);
    return Math.min(turnAt - now(), busyFor);
  };

  return {
    attempt({ source, account, browser }, check) {
      const from = sourceKey(source);
      const waitMs = browser === null ? waitOf(from, account) : (browsers.get(browser)?.until ?? 0) - now();
      if (waitMs > 0) return { waitMs };
      const takeBack =
        browser === null
          ? [sources.fail(from, account), accounts.fail(account, from)]
          : [browsers.fail(browser, account)];
      const found = check();
      if (found === null) return { found };
      for (const back of takeBack) back();
      if (browser === null) sources.keepTurn(from, now());
      return { found };
    },
  };
}

interface Counts {
  get(key: string): Count | undefined;
  /** @returns takes it back: it was no failure, and neither were those before it about the same */
  fail(key: string, about: string): () => void;
  keepTurn(key: string, turnAt: number): void;
}

function counts(atMost: number, longestMs: number, now: () => number): Counts {
  const kept = new Map<string, Count>();

  const get = (key: string): Count | undefined => {
    const count = kept.get(key);
    return count === undefined || now() - count.lastAt > FORGOTTEN_MS ? undefined : count;
  };
  const set = (key: string, count: Count): void => {
    kept.delete(key); // the newest stands last
    kept.set(key, count);
    if (kept.size <= atMost) return;
    for (const oldest of kept.keys()) {
      kept.delete(oldest);
      return;
    }
  };

  return {
    get,
    fail(key, about) {
      const before = get(key);
      const failures = (before?.failures ?? 0) + 1;
      const isOne = before === undefined || before.failures === 0 || before.about === about;
      set(key, {
        failures,
        lastAt: now(),
        until: now() + delayAfter(failures, longestMs),
        about: isOne ? about : null,
        turnAt: null,
      });
      return () => {
        if (isOne || before === undefined) kept.delete(key);
        else set(key, before);
      };
    },
    keepTurn(key, turnAt) {
      const before = get(key) ?? { failures: 0, until: 0, about: null };
      set(key, { ...before, lastAt: now(), turnAt });
    },
  };
}

function delayAfter(failures: number, longestMs: number): number {
  if (failures <= FREE_FAILURES) return 0;
  return Math.min(longestMs, FIRST_DELAY_MS * 2 ** Math.min(failures - FREE_FAILURES - 1, 30));
}

/** Whoever has one address of IPv6 has 2^64 of them, and those of IPv4 are written in two ways. */
function sourceKey(source: string | null): string {
  if (source === null) return 'unknown';
  const address = source
    .toLowerCase()
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/, '');
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}
