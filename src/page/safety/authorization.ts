import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../../errors.ts';
import type { Visitor } from '../visit.ts';
import { loggerOf, throttle, type Logger } from '../../host/logger.ts';
import { assertOptions, type KnownOptions } from '../../known-options.ts';
import { createLoginBrakes, type LoginBrakes, type LoginTry } from './login-brakes.ts';
import { knownBrowsers } from './known-browser.ts';
import { usableSecret } from './usable-secret.ts';

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
