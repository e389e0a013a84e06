import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../../errors.ts';
import { loggerOf, throttle, type Logger } from '../../host/logger.ts';
import { performance } from '../../host/real-timers.ts';
import { assertOptions, type KnownOptions } from '../../known-options.ts';
import type { Visitor } from '../visit.ts';

/** Who may see the page. Set at least one option. */
export interface AuthorizationOptions {
  /**
   * Your own login: a function that returns the visitor, or `null` to deny access. This function must not read the body
   * of the request.
   */
  readonly authorize?: (request: Request) => Visitor | null | Promise<Visitor | null>;
  /**
   * Users who sign in with a password; the browser asks for it. These users are viewers unless `role` is set. Use
   * passwords only over HTTPS.
   */
  readonly basic?: readonly {
    readonly user: string;
    /**
     * The password, for example from an environment variable. If the password is unset or empty, the page cannot be
     * created.
     */
    readonly password: string | undefined;
    readonly role?: Visitor['role'];
  }[];
  /**
   * Tokens for programs, such as a metrics collector that scrapes `/metrics`. Programs are viewers unless `role` is
   * set.
   */
  readonly bearer?: readonly {
    /**
     * The token, for example from an environment variable. If the token is unset or empty, the page cannot be created.
     */
    readonly token: string | undefined;
    readonly role?: Visitor['role'];
    readonly name?: string;
  }[];
  /**
   * Lets visitors on this machine use the page without a login, as operators unless `role` is set. Connections from
   * other machines or through proxies are denied access. hookbox cannot detect a proxy on this machine that sends
   * neither `X-Forwarded-For` nor `Forwarded`. The audit records the actions of these visitors under `name`.
   *
   * @defaultValue `false` for `opsPage`; for `sandboxPage`, `true` if no login is set. `name` is `local` unless you set
   * it
   */
  readonly unsafeOpen?: boolean | { readonly name: string; readonly role?: Visitor['role'] };
}

/** Logs and secrets of logins. */
export interface LoginOptions {
  /**
   * The logger for failed logins. hookbox logs at most one failed login every ten seconds, and never logs credentials.
   * `false` turns this log off.
   *
   * @defaultValue the console
   */
  readonly logger?: Logger | false;
  /**
   * The secret that signs form tokens and the login cookie. Set the same secret in all processes that serve the page.
   *
   * @defaultValue random
   */
  readonly secret?: string;
}

/** The options that say who is let in. */
export const ENTRANCE: KnownOptions<AuthorizationOptions & LoginOptions> = {
  authorize: 'function',
  basic: 'list',
  bearer: 'list',
  unsafeOpen: true,
  logger: true,
  secret: true,
};

type Entry<Name extends 'basic' | 'bearer'> = NonNullable<AuthorizationOptions[Name]>[number];
const USER: KnownOptions<Entry<'basic'>> = { user: true, password: true, role: true };
const TOKEN: KnownOptions<Entry<'bearer'>> = { token: true, role: true, name: true };
const OPEN: KnownOptions<Exclude<AuthorizationOptions['unsafeOpen'], boolean | undefined>> = { name: true, role: true };

/** Who it is, or how to answer. */
export type Verdict =
  | {
      readonly visitor: Visitor;
      /** what a browser shall keep to be known again */
      readonly known?: string;
    }
  | { readonly refused: 429; readonly retryAfterS: number }
  | { readonly refused: 401; readonly challenges: readonly string[] }
  | { readonly refused: 403 };

const REALM = 'hookbox';
const CHALLENGES = {
  basic: `Basic realm="${REALM}", charset="UTF-8"`,
  bearer: `Bearer realm="${REALM}"`,
} as const;
const MAX_NAME = 200;

/** What all tokens are tried under. No user has this name. */
const TOKENS = ':tokens';

/**
 * How visitors are told apart. Credentials of a kind that is configured decide alone; without any, `authorize` is
 * asked.
 *
 * @returns asks who it is; `source` is the address that the request comes from
 * @throws ConfigurationError when anybody would be let in, and for credentials that anybody could guess
 */
export function createAuthorization(
  options: AuthorizationOptions & LoginOptions,
  brakes: LoginBrakes = createLoginBrakes(),
  tokenBrakes: LoginBrakes = createLoginBrakes(),
): (request: Request, source?: string | null) => Promise<Verdict> {
  const { authorize, basic = [], bearer = [], unsafeOpen = false, secret } = options;
  const browsers = knownBrowsers(secret);
  const logger = loggerOf(options.logger);
  const seldom = throttle();
  // A text is no answer to this: that of a variable which says false would let everybody in.
  if (typeof unsafeOpen !== 'boolean')
    assertOptions('unsafeOpen', unsafeOpen, OPEN, 'Set it to true, or to { name } with a name for all visitors.');
  const everybody = unsafeOpen
    ? known({ role: 'operator', name: 'local', ...(unsafeOpen !== true && unsafeOpen) })
    : null;
  const asks = authorize !== undefined || basic.length > 0 || bearer.length > 0;
  if (!asks && everybody === null) {
    throw refusal(
      'opsPage needs authorize, basic or bearer, because its visitors can see and rerun every event. For a page ' +
        'that only this machine can reach, set unsafeOpen: true instead.',
    );
  }
  if (asks && everybody !== null)
    throw refusal('unsafeOpen turns the login off. Remove unsafeOpen, or remove authorize, basic and bearer.');
  const users = basic.map((entry, n) => {
    assertOptions(`basic[${n}]`, entry, USER);
    const { user, password, role = 'viewer' } = entry;
    if (typeof user !== 'string' || user === '' || user.includes(':')) {
      throw refusal(`basic[${n}].user must not be empty or contain a colon.`);
    }
    return {
      credentials: digest(`${user}:${usableSecret(password, `basic[${n}].password`)}`),
      visitor: known({ role, name: user }),
    };
  });
  const tokens = bearer.map((entry, n) => {
    assertOptions(`bearer[${n}]`, entry, TOKEN);
    const { token, role = 'viewer', name = 'bearer' } = entry;
    return { credentials: digest(usableSecret(token, `bearer[${n}].token`)), visitor: known({ role, name }) };
  });
  const challenges = [
    ...(users.length > 0 ? [CHALLENGES.basic] : []),
    ...(tokens.length > 0 ? [CHALLENGES.bearer] : []),
  ];

  return async (request, source = null) => {
    if (everybody !== null) return { visitor: everybody };
    const [scheme, credentials] = credentialsOf(request);
    if (scheme === 'basic' && users.length > 0) {
      const user = credentials.split(':', 1)[0] ?? '';
      // A name may be as long as a header, and many are tried; its hash is not, and does not tell which ones there are.
      const account = digest(user).toString('base64url');
      const browser = browsers.nameOf(request, account);
      const decided = attempt(brakes, { source, account, browser }, credentials, users, user);
      const isNew = 'visitor' in decided && browser === null;
      return isNew ? { ...decided, known: browsers.cookieFor(account) } : decided;
    }
    if (scheme === 'bearer' && tokens.length > 0) {
      // Apart from passwords: who guesses those behind a proxy must not keep the program out that reads the metrics.
      return attempt(tokenBrakes, { source, account: TOKENS, browser: null }, credentials, tokens);
    }
    if (authorize === undefined) return verdict(null);
    const visitor = visitorOf(await authorize(request));
    return visitor === null ? verdict(null) : { visitor };
  };

  function attempt(
    slowedBy: LoginBrakes,
    login: LoginTry,
    credentials: string,
    holders: readonly Holder[],
    user?: string,
  ): Verdict {
    const tried = slowedBy.attempt(login, () => holderOf(credentials, holders));
    const found = 'found' in tried ? tried.found : null;
    if (found === null) {
      seldom('login', (suppressed) => {
        // What is typed into the field of the name may be a password.
        const isUser = basic.some((one) => one.user === user);
        const facts = { source: login.source ?? 'unknown', ...(isUser && { user }), suppressed };
        logger.warn(facts, 'a login to the page was rejected');
      });
    }
    return 'found' in tried ? verdict(found) : { refused: 429, retryAfterS: Math.ceil(tried.waitMs / 1_000) };
  }

  function verdict(visitor: Visitor | null): Verdict {
    if (visitor !== null) return { visitor };
    return challenges.length > 0 ? { refused: 401, challenges } : { refused: 403 };
  }
}

interface Holder {
  readonly credentials: Uint8Array;
  readonly visitor: Visitor;
}

/** Compares with all of them, and hashes of one length, so that the time says nothing about how near a guess was. */
function holderOf(credentials: string, holders: readonly Holder[]): Visitor | null {
  const given = digest(credentials);
  let found: Visitor | null = null;
  for (const holder of holders) {
    if (timingSafeEqual(holder.credentials, given)) found = holder.visitor;
  }
  return found;
}

const digestKey = randomBytes(32);

/** Under a key of this process, so that no one can search for a hash that begins alike. */
function digest(credentials: string): Buffer {
  return createHmac('sha256', digestKey).update(credentials).digest();
}

/** The kind of credentials that a request brings, and what they are: `user:password`, or the token. */
function credentialsOf(request: Request): readonly [scheme: 'basic' | 'bearer' | null, credentials: string] {
  const header = request.headers.get('authorization') ?? '';
  const [, scheme = '', credentials = ''] = /^(basic|bearer) +(\S+) *$/i.exec(header) ?? [];
  switch (scheme.toLowerCase()) {
    case 'basic':
      return ['basic', Buffer.from(credentials, 'base64').toString('utf8')];
    case 'bearer':
      return ['bearer', credentials];
    default:
      return [null, ''];
  }
}

function known(visitor: Visitor): Visitor {
  const checked = visitorOf(visitor);
  if (checked === null) throw refusal(`role must be 'viewer' or 'operator', not ${JSON.stringify(visitor.role)}.`);
  return checked;
}

/** What JavaScript may return: only the two roles let somebody in. */
function visitorOf(returned: Visitor | null | undefined): Visitor | null {
  if (returned?.role !== 'viewer' && returned?.role !== 'operator') return null;
  const name = typeof returned.name === 'string' && returned.name.trim() !== '' ? returned.name.trim() : 'unnamed';
  return { role: returned.role, name: name.slice(0, MAX_NAME) };
}

function refusal(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}

/**
 * `process.env['X']` that is not set must not become a password, or a key, that is known to all.
 *
 * @throws ConfigurationError that names the option
 */
export function usableSecret(secret: unknown, name: string): string {
  if (typeof secret === 'string' && secret.trim() !== '' && secret !== 'undefined' && secret !== 'null') return secret;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `${name} must not be empty, “undefined” or “null”. Check that its environment variable is set.`,
  );
}

/** One try to log in. */
interface LoginTry {
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

/**
 * Knows browsers again that have logged in to an account before: behind a proxy everybody has its address, and who guesses through
 * it must not keep out those who know their password. The cookie says no more than that, and lets nobody in.
 */
interface KnownBrowsers {
  /** The name of the browser; `null` for one that has not logged in to this account. */
  readonly nameOf: (request: Request, account: string) => string | null;
  /** What the cookie of one that has logged in now holds. */
  readonly cookieFor: (account: string) => string;
}

export const KNOWN_COOKIE = 'hookbox-known';
const IN_HEADER = new RegExp(`(?:^|; ?)${KNOWN_COOKIE}=([\\w-]{16,64})\\.([\\w-]{43})(?=;|$)`);

/** @param secret - that of the page; random unless given, so browsers are not known after a restart */
function knownBrowsers(secret?: string): KnownBrowsers {
  const key = secret === undefined ? randomBytes(32) : usableSecret(secret, 'secret');
  const signed = (account: string, name: string): string =>
    createHmac('sha256', key).update(`hookbox browser\n${name}\n${account}`).digest('base64url');
  return {
    nameOf({ headers }, account) {
      const [, name = '', given = ''] = IN_HEADER.exec(headers.get('cookie') ?? '') ?? [];
      const expected = signed(account, name);
      return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
        ? name
        : null;
    },
    cookieFor(account) {
      const name = randomBytes(18).toString('base64url');
      return `${name}.${signed(account, name)}`;
    },
  };
}
