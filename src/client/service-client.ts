import { ConfigurationError, nameOf } from '../errors.ts';
import { assertOptions, kindOf, MAX_TIMER_MS, nested, positive, type RulesFor, whole } from '../option-rules.ts';
import type * as resources from './resources.ts';
import { type OperationName, type Route, ROUTES } from './routes.ts';
import {
  ConnectionError,
  errorOf,
  OutageError,
  RateLimitExceededError,
  timeOf,
  UnexpectedAnswerError,
} from './service-errors.ts';

/** The options of {@link createClient}. */
export interface ClientOptions {
  /** The API key, or a function that returns the current key. hookbox calls the function before each request. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** The base address of the service; it may end with a version, such as `/v1`. Required unless you set `fetch`. */
  readonly baseUrl?: string;
  /** Replaces the global `fetch`, for example with the `fetch` of a sandbox. */
  readonly fetch?: (request: Request) => Response | Promise<Response>;
  /** Replaces the timer of retries, for example with one that advances a sandbox's clock. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Ends all requests of this client. */
  readonly signal?: AbortSignal;
  /**
   * How long one attempt may take, with its body, in milliseconds.
   *
   * @defaultValue 30,000
   */
  readonly timeoutMs?: number;
  /** When and how often a request is repeated. */
  readonly retry?: ClientRetryOptions;
  /**
   * Waits before a request while the last response says that the limit is used up. The wait is at most
   * `retry.maxWaitMs`.
   *
   * @defaultValue `false`
   */
  readonly waitForLimit?: boolean;
}

/** The retries of a client (section 7.3 of the service's interface). */
export interface ClientRetryOptions {
  /**
   * How many times a request is sent at most.
   *
   * @defaultValue 5
   */
  readonly attempts?: number;
  /**
   * The longest wait before the second attempt, in milliseconds. It doubles with each attempt; the wait itself is random.
   *
   * @defaultValue 500
   */
  readonly baseMs?: number;
  /**
   * The longest random wait, in milliseconds.
   *
   * @defaultValue 30,000
   */
  readonly maxMs?: number;
  /**
   * The longest wait that the service may ask for, in milliseconds. If it asks for more, the request fails at once.
   *
   * @defaultValue 60,000
   */
  readonly maxWaitMs?: number;
}

/** The options of one call. */
export interface CallOptions {
  /** Ends this call, with its retries. */
  readonly signal?: AbortSignal;
  /**
   * Repeats a POST although the service may already have acted on it. Set it only if a second effect does no harm.
   *
   * @defaultValue `false`
   */
  readonly retryUnknownEffect?: boolean;
}

/** The limit that the service reports (section 8.4). */
export interface LimitState {
  /** The number of requests that the window allows. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: Date | null;
}

/** A successful response (section 2.1). */
export interface Answer<Data> {
  readonly data: Data;
  readonly messages: readonly resources.Message[];
  /** The limit after this request, or `null` if the service reports none. */
  readonly limit: LimitState | null;
}

/** The twelve operations of the service (section 4 of its interface). */
export interface Client {
  /** Section 4.1. The string is the id of the cart (assumption A1). */
  createCart(body: resources.NewCart, options?: CallOptions): Promise<Answer<string>>;
  /** Section 4.2. */
  getCart(id: string, options?: CallOptions): Promise<Answer<resources.Cart>>;
  /** Section 4.3. */
  updateCart(
    id: string,
    body: { readonly status: resources.CartStatus },
    options?: CallOptions,
  ): Promise<Answer<boolean>>;
  /** Section 4.4. The string is the id of the item (assumption A1). */
  addCartItem(cartId: string, body: resources.NewCartItem, options?: CallOptions): Promise<Answer<string>>;
  /** Section 4.5. */
  updateCartItem(
    cartId: string,
    itemId: string,
    body: { readonly quantity: number },
    options?: CallOptions,
  ): Promise<Answer<boolean>>;
  /** Section 4.6. */
  createOrder(body: resources.NewOrder, options?: CallOptions): Promise<Answer<resources.Order>>;
  /** Section 4.7. */
  submitOrder(
    orderId: string,
    body: { readonly payment_method_id: string },
    options?: CallOptions,
  ): Promise<Answer<resources.Order>>;
  /** Section 4.8. */
  createSetupIntent(
    body: { readonly merchant_id: string },
    options?: CallOptions,
  ): Promise<Answer<{ readonly url: string }>>;
  /** Section 4.9. The interface shows no parameters; the sandbox accepts `merchant_id` (assumption A11). */
  listPaymentMethods(
    query?: Readonly<Record<string, resources.QueryValue | undefined>>,
    options?: CallOptions,
  ): Promise<Answer<readonly resources.PaymentMethod[]>>;
  /** Section 4.10. `total` is the service's count for the listing. */
  listMerchants(
    query?: resources.MerchantQuery,
    options?: CallOptions,
  ): Promise<Answer<readonly resources.Merchant[]> & { readonly total: number | null }>;
  /** Section 4.11. */
  getCategory(merchantId: string, id: string, options?: CallOptions): Promise<Answer<resources.Category>>;
  /** Section 4.12. The interface does not show the response. */
  searchProducts(query: resources.ProductQuery, options?: CallOptions): Promise<Answer<unknown>>;
  /** All merchants, page by page (section 4.10). A page that adds no new id ends the listing. */
  merchants(query?: resources.MerchantQuery, options?: CallOptions): AsyncGenerator<resources.Merchant, void>;
}

const RETRY: RulesFor<ClientRetryOptions> = {
  attempts: whole(),
  baseMs: positive(MAX_TIMER_MS),
  maxMs: positive(MAX_TIMER_MS),
  maxWaitMs: positive(MAX_TIMER_MS),
};
const OPTIONS: RulesFor<ClientOptions> = {
  apiKey: true,
  baseUrl: true,
  fetch: 'function',
  sleep: 'function',
  signal: true,
  timeoutMs: positive(MAX_TIMER_MS),
  retry: nested(RETRY),
  waitForLimit: 'boolean',
};
const CALL: RulesFor<CallOptions> = { signal: true, retryUnknownEffect: 'boolean' };

// Fake timers that a test installs later must not stop the retries.
const { setTimeout, clearTimeout, performance } = globalThis;

/**
 * Creates a client for the service (sections 4, 5, 7 and 8 of its interface). It repeats a request after a 429, after the
 * wait that the service asks for. After a 5xx or a lost connection, it repeats a GET or PUT; it repeats a POST only with
 * `retryUnknownEffect`, or if the connection was never made.
 *
 * Responses are not checked against the types, so a field that the service leaves out is `undefined`.
 *
 * @throws ConfigurationError `INVALID_OPTION`
 * @example
 * ```ts
 * import { createClient, ResourceNotFoundError } from 'hookbox/client';
 * import { createSandbox } from 'hookbox/sandbox';
 *
 * await using sandbox = createSandbox();
 * const client = createClient({ apiKey: sandbox.apiKey, fetch: sandbox.fetch });
 * for await (const { name } of client.merchants()) console.log(name); // Harbour Bakery …
 * const missing = await client.getCart('cart_1').catch((error: unknown) => error);
 * console.log(missing instanceof ResourceNotFoundError && missing.resourceType); // cart
 * ```
 */
export function createClient(options: ClientOptions): Client {
  assertOptions('createClient', options, OPTIONS);
  const { apiKey, fetch = (request) => globalThis.fetch(request), sleep = wait, timeoutMs = 30_000 } = options;
  const { attempts = 5, baseMs = 500, maxMs = 30_000, maxWaitMs = 60_000 } = options.retry ?? {};
  if (typeof apiKey === 'string') assertKey(apiKey);
  else if (typeof apiKey !== 'function') throw refusal('apiKey must be a string, or a function that returns one.');
  const base = baseOf(options);
  const limits = new LimitWatch();

  async function call(name: OperationName, given: readonly unknown[]): Promise<unknown> {
    const route: Route = ROUTES[name];
    const { path, payload, callOptions } = partsOf(name, route, given);
    const ended = AbortSignal.any([options.signal, callOptions.signal].filter((signal) => signal !== undefined));
    for (let attempt = 1; ; attempt += 1) {
      if (options.waitForLimit === true) await pause(Math.min(limits.waitMs(), maxWaitMs), ended);
      ended.throwIfAborted();
      try {
        const { total, ...answer } = await send(route, path, payload, ended);
        return name === 'listMerchants' ? { ...answer, total } : answer;
      } catch (failure) {
        const waitMs = attempt < attempts ? waitAfter(failure, attempt, route, callOptions) : null;
        if (waitMs === null) throw failure;
        await pause(waitMs, ended);
      }
    }
  }

  async function send(route: Route, path: string, payload: unknown, ended: AbortSignal) {
    const mayAct = route.method !== 'GET';
    const late = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([ended, late]);
    async function inTime<Value>(work: () => Promise<Value> | Value, isEffectUnknown: boolean): Promise<Value> {
      try {
        return await unlessAborted(signal, work);
      } catch (failure) {
        ended.throwIfAborted();
        if (!late.aborted) throw failure;
        throw new ConnectionError('TIMEOUT', `No response within ${timeoutMs} ms.`, isEffectUnknown);
      }
    }
    const key = typeof apiKey === 'string' ? apiKey : await inTime(apiKey, false);
    assertKey(key);
    const request = new Request(`${base}${path}`, {
      method: route.method,
      headers: { Authorization: key, ...(mayAct && { 'Content-Type': 'application/json' }) },
      ...(mayAct && { body: JSON.stringify(payload) }),
      // The key must not follow a redirect to another host.
      redirect: 'manual',
      signal,
    });
    const { response, text } = await inTime(() => responseTo(request), mayAct).catch((failure: unknown) => {
      if (signal.aborted) throw failure;
      const { code, isBeforeSending } = networkError(failure);
      const message = `The connection to the service failed: ${code ?? nameOf(failure)}.`;
      throw new ConnectionError('CONNECTION_FAILED', message, mayAct && !isBeforeSending);
    });
    const limit = limits.note(response.headers);
    const body = parsed(text);
    if (!response.ok) throw errorOf(response, body, mayAct);
    if (typeof body !== 'object' || body === null || !('data' in body)) {
      const message = `The service answered with status ${response.status}, but without data in a JSON body.`;
      throw new UnexpectedAnswerError({ status: response.status, requestId: null, message }, mayAct);
    }
    const { data, messages, total }: { data: unknown; messages?: unknown; total?: unknown } = body;
    return { data, messages: Array.isArray(messages) ? messages : [], limit, total: total ?? null };
  }

  async function responseTo(request: Request): Promise<{ readonly response: Response; readonly text: string }> {
    const response = await fetch(request);
    return { response, text: await response.text() };
  }

  /** How long to wait before the next attempt; `null` for an error that a repeat does not mend (section 7.3). */
  function waitAfter(failure: unknown, attempt: number, { method }: Route, call: CallOptions): number | null {
    if (failure instanceof RateLimitExceededError && failure.retryAfterMs !== null) {
      return failure.retryAfterMs <= maxWaitMs ? failure.retryAfterMs : null;
    }
    if (!TRANSIENT.some((transient) => failure instanceof transient)) return null;
    const { isEffectUnknown } = failure as { readonly isEffectUnknown: boolean };
    if (method === 'POST' && isEffectUnknown && call.retryUnknownEffect !== true) return null;
    return Math.random() * Math.min(maxMs, baseMs * 2 ** (attempt - 1));
  }

  async function pause(ms: number, ended: AbortSignal): Promise<void> {
    if (ms > 0) await unlessAborted(ended, () => sleep(Math.ceil(ms), ended));
  }

  async function* merchants(query: resources.MerchantQuery = {}, callOptions: CallOptions = {}) {
    const seen = new Set<string>();
    for (let page = query.page ?? 0; ; page += 1) {
      const { data } = await client.listMerchants({ ...query, page }, callOptions);
      const added = data.filter(({ id }) => !seen.has(id));
      if (added.length === 0) return;
      for (const { id } of added) seen.add(id);
      yield* added;
    }
  }

  const operations = (Object.keys(ROUTES) as OperationName[]).map(
    (name) => [name, (...given: readonly unknown[]) => call(name, given)] as const,
  );
  // The table and the interface have the same names; a test compares the types with the sandbox's.
  const client: Client = { ...(Object.fromEntries(operations) as unknown as Omit<Client, 'merchants'>), merchants };
  return client;
}

const TRANSIENT = [ConnectionError, OutageError, RateLimitExceededError] as const;
/** System calls before a request is sent. */
const CONNECTING: ReadonlySet<unknown> = new Set(['connect', 'getaddrinfo']);

/** Reads the arguments of an operation: its parameters, its body or query, its options. */
function partsOf(name: OperationName, { method, path }: Route, given: readonly unknown[]) {
  const rest = [...given];
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = rest.shift();
    // A dot segment would change the path.
    if (typeof value === 'string' && !/^\.{0,2}$/.test(value) && value.isWellFormed()) return encodeURIComponent(value);
    throw refusal(`${name}: ${parameter} must be an id, not ${kindOf(value)}.`);
  });
  const payload = method !== 'GET' || filled === path ? rest.shift() : undefined;
  if (payload === undefined ? method !== 'GET' : typeof payload !== 'object' || payload === null) {
    const what = method === 'GET' ? 'the query' : 'the body';
    throw refusal(`${name}: ${what} must be an object, not ${kindOf(payload)}.`);
  }
  const callOptions: CallOptions = rest.shift() ?? {};
  assertOptions(`${name}, options`, callOptions, CALL);
  return { path: method === 'GET' ? `${filled}${queryOf(payload ?? {})}` : filled, payload, callOptions };
}

function queryOf(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((each) => each !== undefined)
      .map((each): [string, string] => [name, String(each)]),
  );
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

/** The last limit that the service reported, for all requests of a client. */
class LimitWatch {
  #openAt = 0;

  note(headers: Headers): LimitState | null {
    const [limit, remaining] = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => {
      const given = headers.get(name);
      return given === null || !/^\d+$/.test(given) ? null : Number(given);
    });
    if (typeof limit !== 'number' || typeof remaining !== 'number') return null;
    const resetAt = timeOf(headers.get('x-ratelimit-reset'));
    // By the service's clock where it shows one, because this machine's clock may be wrong.
    const now = timeOf(headers.get('date')) ?? new Date();
    const isUsedUp = remaining === 0 && resetAt !== null;
    this.#openAt = isUsedUp ? performance.now() + resetAt.getTime() - now.getTime() : 0;
    return { limit, remaining, resetAt };
  }

  waitMs(): number {
    return Math.max(0, this.#openAt - performance.now());
  }
}

/** Undici's messages quote a header with a line break, so a key is checked here. */
function assertKey(key: unknown): asserts key is string {
  if (typeof key === 'string' && /^[\x21-\x7e]+$/.test(key)) return;
  throw refusal(`apiKey must be a string of visible ASCII characters, not ${kindOf(key)}.`);
}

function baseOf({ baseUrl, fetch }: ClientOptions): string {
  if (baseUrl === undefined && fetch !== undefined) return 'https://service.invalid';
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null) throw refusal(`baseUrl must be the address of the service, not ${kindOf(baseUrl)}.`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw refusal('baseUrl must not contain a user name, password, query or fragment.');
  }
  const isLocal = url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d+){3}$/.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    throw refusal('baseUrl must use https, because the key is in every request. Only this machine may use http.');
  }
  return url.href.replace(/\/+$/, '');
}

function refusal(message: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', message);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** undici gives the error of the system as a cause. A read may fail with the same codes as a connect. */
function networkError(failure: unknown): { readonly code: string | null; readonly isBeforeSending: boolean } {
  for (const each of [failure, failure instanceof Error ? failure.cause : null]) {
    if (typeof each !== 'object' || each === null) continue;
    const [code, call]: unknown[] = ['code', 'syscall'].map((name) => Reflect.get(each, name));
    if (typeof code !== 'string' || !/^[A-Z_]+$/.test(code)) continue;
    return { code, isBeforeSending: CONNECTING.has(call) || code === 'UND_ERR_CONNECT_TIMEOUT' };
  }
  return { code: null, isBeforeSending: false };
}

/** A `fetch` or `sleep` of an application may ignore the signal. */
async function unlessAborted<Value>(signal: AbortSignal, work: () => Promise<Value> | Value): Promise<Value> {
  signal.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });
}
