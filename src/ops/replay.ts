import { STATUS_CODES } from 'node:http';
import { ConfigurationError, messageOf } from '../errors.ts';
import { isLoopback, loopbackLookup } from '../host/loopback.ts';
import { performance } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { By } from '../inbox/operator/acts.ts';
import { assertOptions, positive, type RulesFor } from '../option-rules.ts';
import { agentFor, deliver, isSuccess } from '../sender/deliver.ts';
import { signBody, type Secret } from '../signing/signature.ts';
import { operationsOf } from './operations-of.ts';

/** The options of {@link replayEvent}. */
export interface ReplayOptions {
  /** The address of the receiver, such as `http://localhost:4000/webhooks`. */
  readonly to: string;
  /** The signing secret of that receiver. `null` sends no signature. */
  readonly secret: Secret | null;
  /**
   * Hosts of other machines that may get the event, such as `staging.example` or `staging.example:8443`.
   *
   * @defaultValue none: only this machine
   */
  readonly allow?: readonly string[];
  /**
   * How long to wait for the whole response.
   *
   * @defaultValue 10 seconds
   */
  readonly timeoutMs?: number;
}

/** The result of {@link replayEvent}. */
export interface ReplayReport {
  /** Whether the status is 2xx. */
  readonly ok: boolean;
  /** `null` without a response. */
  readonly status: number | null;
  readonly ms: number;
  /** The first 2,000 characters of the response body. The receiver wrote them. */
  readonly body: string;
  /** Why the event was not accepted. `null` if it was. */
  readonly problem: string | null;
  /** The `seq` of the audit line. */
  readonly audit: number;
}

const OPTIONS: RulesFor<ReplayOptions> = { to: true, secret: true, allow: 'list', timeoutMs: positive(60_000) };

const MOST_OF_ANSWER = 2_000;

/**
 * Sends the stored body of one event to an address, as a delivery with a new signature, and returns the response. The
 * event in the inbox does not change; its timeline has the replay. Redirects are not followed.
 *
 * Only this machine may get the event, unless `allow` names the host. The name `localhost` is rejected if it resolves
 * to another machine. The audit records the address without its query.
 *
 * @returns `null` if the event is unknown or pruned
 * @throws ConfigurationError `INVALID_OPTION` for an address that is not allowed, `UNUSABLE_SECRET` for a wrong secret
 * @example
 * ```ts
 * import { replayEvent } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const key = { endpoint: 'default', id: 'evt_1' };
 * const to = 'http://localhost:4000/webhooks';
 * const report = await replayEvent(inbox, key, { actor: 'ada' }, { to, secret: 'a signing secret' });
 * console.log(report?.status); // undefined
 * ```
 */
export async function replayEvent(
  inbox: AnyInbox,
  key: EventKey,
  by: By,
  options: ReplayOptions,
): Promise<ReplayReport | null> {
  assertOptions('replayEvent', options, OPTIONS);
  const { to, secret, allow = [], timeoutMs } = options;
  const url = replayTarget(to, allow);
  const operations = operationsOf(inbox);
  const event = await inbox.get(key);
  if (event === null || event.body === null) return null;
  const { body, seq } = event;
  const signature = secret === null ? null : signBody(body, secret);
  const target = { endpoint: key.endpoint, ids: [key.id], to: `${url.origin}${url.pathname}` };
  const audit = await operations.note('replay', by, target, { sent: 1 }, [seq]);
  const agent = agentFor(url, 1);
  const began = performance.now();
  const report = (status: number | null, text: string, problem: string | null): ReplayReport => {
    const ms = Math.round(performance.now() - began);
    return { ok: problem === null, status, ms, body: text.slice(0, MOST_OF_ANSWER), problem, audit };
  };
  try {
    const only = isLoopback(url.hostname) ? { lookup: loopbackLookup() } : {};
    const answer = await deliver(url, body, { signature, agent, timeoutMs, resend: false, ...only });
    await operations.recount(audit, isSuccess(answer.status) ? { accepted: 1 } : { failed: 1 });
    return report(answer.status, answer.body, problemOf(answer.status));
  } catch (failure) {
    await operations.recount(audit, { failed: 1 });
    return report(null, '', messageOf(failure));
  } finally {
    agent.destroy();
  }
}

/** @throws ConfigurationError `INVALID_OPTION` */
function replayTarget(to: string, allow: readonly string[]): URL {
  const refused = (why: string): never => {
    throw new ConfigurationError('INVALID_OPTION', `to must be ${why}.`);
  };
  if (typeof to !== 'string' || !URL.canParse(to)) return refused('a URL, such as http://localhost:4000/webhooks');
  const url = new URL(to);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return refused('an http or https URL');
  if (url.username !== '' || url.password !== '') return refused('a URL without a user name and password');
  if (!isLoopback(url.hostname) && !allow.includes(url.hostname) && !allow.includes(url.host)) {
    return refused(`a URL on this machine, or on a host that the option allow names; ${url.host} is another machine`);
  }
  return url;
}

function problemOf(status: number): string | null {
  if (isSuccess(status)) return null;
  const text = `answered ${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return status >= 300 && status < 400 ? `${text}; redirects are not followed` : text;
}
