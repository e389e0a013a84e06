import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../../errors.ts';
import { loggerOf, throttle, type Logger } from '../../host/logger.ts';
import { performance } from '../../host/real-timers.ts';
import { assertOptions, type RulesFor } from '../../option-rules.ts';
import type { Visitor } from '../visit.ts';

/** Who may see the page. Set at least one option. */
export interface AuthorizationOptions {
  /**
   * Your own login: returns the visitor, or `null` to deny access. It must not read the body of the request.
   */
  readonly authorize?: (request: Request) => Visitor | null | Promise<Visitor | null>;
  /**
   * Users who sign in with a password, as viewers unless `role` is set. Use passwords only over HTTPS.
   */
  readonly basic?: readonly {
    readonly user: string;
    /** The password. If it is unset or empty, the page cannot be created. */
    readonly password: string | undefined;
    readonly role?: Visitor['role'];
  }[];
  /**
   * Tokens for programs that scrape `/metrics`, for example. Programs are viewers unless `role` is set.
   */
  readonly bearer?: readonly {
    /** The token. If it is unset or empty, the page cannot be created. */
    readonly token: string | undefined;
    readonly role?: Visitor['role'];
    readonly name?: string;
  }[];
  /**
   * Lets visitors on this machine use the page without a login, as operators unless `role` is set. Connections from
   * other machines or through proxies are denied access. hookbox cannot detect a proxy on this machine that sends
   * neither `X-Forwarded-For` nor `Forwarded`. The audit records these visitors under `name`.
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
   * The secret that signs form tokens. Set the same secret in all processes that serve the page.
   *
   * @defaultValue random
   */
  readonly secret?: string;
}

type Entry<Name extends 'basic' | 'bearer'> = NonNullable<AuthorizationOptions[Name]>[number];
const USER: RulesFor<Entry<'basic'>> = { user: true, password: true, role: true };
const TOKEN: RulesFor<Entry<'bearer'>> = { token: true, role: true, name: true };
const OPEN: RulesFor<Exclude<AuthorizationOptions['unsafeOpen'], boolean | undefined>> = { name: true, role: true };

export type Verdict =
  | { readonly visitor: Visitor }
  | { readonly refused: 429; readonly retryAfterS: number }
  | { readonly refused: 401; readonly challenges: readonly string[] }
  | { readonly refused: 403 };

export const CHALLENGES = {
  basic: 'Basic realm="hookbox", charset="UTF-8"',
  bearer: 'Bearer realm="hookbox"',
} as const;
const MAX_NAME = 200;
const TOKENS = ':tokens';

/** Credentials of a configured kind decide alone. Without them, `authorize` decides. */
export function createAuthorization(
  options: AuthorizationOptions & Pick<LoginOptions, 'logger'>,
  limit: LoginLimit = loginLimit(),
): (request: Request, source?: string | null) => Promise<Verdict> {
  const { authorize, basic = [], bearer = [], unsafeOpen = false } = options;
  const logger = loggerOf(options.logger);
  const seldom = throttle();
  // A text such as 'false', from an environment variable, would admit all visitors.
  if (typeof unsafeOpen !== 'boolean')
    assertOptions('unsafeOpen', unsafeOpen, OPEN, 'Set it to true, or to { name } with a name for all visitors.');
  const everybody = unsafeOpen
    ? configured({ role: 'operator', name: 'local', ...(unsafeOpen !== true && unsafeOpen) })
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
  const users = basic.map((entry, n): Holder => {
    assertOptions(`basic[${n}]`, entry, USER);
    const { user, password, role = 'viewer' } = entry;
    if (typeof user !== 'string' || user === '' || user.includes(':')) {
      throw refusal(`basic[${n}].user must not be empty or contain a colon.`);
    }
    const credentials = digest(`${user}:${usableSecret(password, `basic[${n}].password`)}`);
    return { credentials, visitor: configured({ role, name: user }) };
  });
  const tokens = bearer.map((entry, n): Holder => {
    assertOptions(`bearer[${n}]`, entry, TOKEN);
    const { token, role = 'viewer', name = 'bearer' } = entry;
    return { credentials: digest(usableSecret(token, `bearer[${n}].token`)), visitor: configured({ role, name }) };
  });
  const challenges = [
    ...(users.length > 0 ? [CHALLENGES.basic] : []),
    ...(tokens.length > 0 ? [CHALLENGES.bearer] : []),
  ];

  return async (request, source = null) => {
    if (everybody !== null) return { visitor: everybody };
    const { scheme, credentials } = credentialsOf(request);
    if (scheme === 'basic' && users.length > 0) {
      const user = credentials.split(':', 1)[0] ?? '';
      return attempt(source, user, credentials, users);
    }
    // Apart from passwords, because guesses through a proxy must not stop the metrics collector.
    if (scheme === 'bearer' && tokens.length > 0) return attempt(source, TOKENS, credentials, tokens);
    return verdict(visitorOf(await authorize?.(request)));
  };

  function attempt(source: string | null, account: string, credentials: string, holders: readonly Holder[]): Verdict {
    const key = digest(`${networkOf(source)} ${account}`).toString('base64url');
    const tried = limit.attempt(key, () => holderOf(credentials, holders));
    const found = 'found' in tried ? tried.found : null;
    if (found === null) {
      seldom('login', (suppressed) => {
        // The name may be a password in the wrong field.
        const isUser = basic.some(({ user }) => user === account);
        const facts = { source: source ?? 'unknown', ...(isUser && { user: account }), suppressed };
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

/** Compares the hash with every holder, so that the time does not show how close a guess was. */
function holderOf(credentials: string, holders: readonly Holder[]): Visitor | null {
  const given = digest(credentials);
  let found: Visitor | null = null;
  for (const holder of holders) {
    if (timingSafeEqual(holder.credentials, given)) found = holder.visitor;
  }
  return found;
}

const digestKey = randomBytes(32);

function digest(text: string): Buffer {
  return createHmac('sha256', digestKey).update(text).digest();
}

function credentialsOf({ headers }: Request): { readonly scheme: string; readonly credentials: string } {
  const [, scheme = '', given = ''] = /^(basic|bearer) +(\S+) *$/i.exec(headers.get('authorization') ?? '') ?? [];
  const isBasic = scheme.toLowerCase() === 'basic';
  return {
    scheme: scheme.toLowerCase(),
    credentials: isBasic ? Buffer.from(given, 'base64').toString('utf8') : given,
  };
}

function configured(visitor: Visitor): Visitor {
  const checked = visitorOf(visitor);
  if (checked === null) throw refusal(`role must be 'viewer' or 'operator', not ${JSON.stringify(visitor.role)}.`);
  return checked;
}

/** JavaScript may return any value, so only the two roles admit a visitor. */
function visitorOf(returned: Visitor | null | undefined): Visitor | null {
  if (returned?.role !== 'viewer' && returned?.role !== 'operator') return null;
  const name = typeof returned.name === 'string' && returned.name.trim() !== '' ? returned.name.trim() : 'unnamed';
  return { role: returned.role, name: name.slice(0, MAX_NAME) };
}

function refusal(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}

/** An unset `process.env['X']` must not become a password or key that an attacker can guess. */
export function usableSecret(secret: unknown, name: string): string {
  if (typeof secret === 'string' && secret.trim() !== '' && secret !== 'undefined' && secret !== 'null') return secret;
  throw refusal(`${name} must not be empty, “undefined” or “null”. Check that its environment variable is set.`);
}

const FREE_FAILURES = 5;
const DELAY_MS = 60_000;
/** The oldest entry is dropped, so names that attackers invent do not fill the memory. */
const MOST_KEPT = 10_000;

export interface LoginLimit {
  /** Runs `check`, or returns how long to wait. */
  attempt<T>(key: string, check: () => T | null): { readonly found: T | null } | { readonly waitMs: number };
}

export function loginLimit(now: () => number = () => performance.now()): LoginLimit {
  const failed = new Map<string, { readonly failures: number; readonly until: number }>();
  return {
    attempt(key, check) {
      const { failures, until } = failed.get(key) ?? { failures: 0, until: 0 };
      const isOver = until <= now();
      if (failures >= FREE_FAILURES && !isOver) return { waitMs: until - now() };
      const found = check();
      failed.delete(key); // the newest comes last
      if (found !== null) return { found };
      failed.set(key, { failures: isOver ? 1 : failures + 1, until: now() + DELAY_MS });
      const [oldest = key] = failed.keys();
      if (failed.size > MOST_KEPT) failed.delete(oldest);
      return { found };
    },
  };
}

/** A machine has all 2^64 addresses of an IPv6 network, and IPv4 addresses have two notations. */
function networkOf(source: string | null): string {
  const address = (source ?? 'unknown')
    .toLowerCase()
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=\d+\.)/, '');
  if (!address.includes(':')) return address;
  const [first = [], last = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return [...first, ...zeros, ...last].slice(0, 4).join(':');
}
