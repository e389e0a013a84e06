import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { webhookHandler } from '../../../adapters/node.ts';
import { ConfigurationError, messageOf } from '../../errors.ts';
import type { EventSchemas } from '../../events/own-events.ts';
import { consoleLogger, type Logger } from '../../host/logger.ts';
import { performance } from '../../host/real-timers.ts';
import type { Inbox } from '../../inbox/contract.ts';
import type { Acceptance, IncomingEvent } from '../../inbox/event.ts';
import { COMMITTED_ALONE } from '../../inbox/rules/attempt.ts';
import type { AttemptError, ClaimedEvent, Lease } from '../../inbox/work.ts';
import { isLoopbackAddress } from '../../host/loopback.ts';
import { isAboutAttempt } from '../../processing/attempt-log.ts';
import { assertHandlers, handledTypes, type Handlers } from '../../processing/handlers.ts';
import type { Outcome } from '../../receive/outcome.ts';
import { createReceiver, type Receiver } from '../../receive/receiver.ts';
import { labelOf } from '../../sender/event-json.ts';
import { shownInbox, type DbOptions } from '../shared/options.ts';
import { usageError, tell } from '../shared/output.ts';
import { stopSignal, type StopSignal } from '../shared/interruption.ts';
import { addressOf, listen, stopListening, type ListenOptions } from '../shared/listen.ts';
import { openInbox } from '../shared/inbox.ts';
import { exportedSchemas, importOwn, insideDefault, isRecord, whyInvalid } from '../shared/own-module.ts';
import { createForwarder, FORWARDED_HEADER, type Forwarded } from './forwarder.ts';
import { reporter, type AttemptReport, type DeliveryReport, type Output } from './serve-reports.ts';

interface ServeOptions extends ListenOptions, DbOptions {
  readonly path: string;
  readonly secret: string | null | undefined;
  readonly handlers?: Handlers;
  readonly events?: EventSchemas;
  readonly forwardTo?: URL | undefined;
  readonly output: Output;
  readonly verbose?: boolean;
}

export async function serve(options: ServeOptions): Promise<StopSignal> {
  const { path, secret, handlers = {}, forwardTo } = options;
  const stopped = stopSignal();
  const handled = handledTypes(handlers);
  const report = reporter(options.output, options.verbose ?? false);
  await using stored = await openInbox(options);
  await using receiver = receiverOf(observedInbox(stored, report), options);
  const forwarder = forwardTo === undefined ? null : createForwarder(forwardTo, report);
  const accepted = (delivery: Forwarded): void => forwarder?.forward(delivery);
  const server = webhookServer({ receiver, path, handled, delivered: report, accepted });
  try {
    const url = `http://${await listen(server, options)}${path}`;
    if (forwardTo !== undefined && isOwnAddress(forwardTo, addressOf(server))) {
      throw usageError(`${forwardTo.href} is this server. Pass the URL of another server with --forward-to.`);
    }
    if (handled.length > 0) await receiver.start();
    else tell('No handlers: hookbox stores events and does not handle them.');
    if (secret === null)
      tell(
        'hookbox does not check signatures, even if SIGNING_SECRET is set: with --unsafe-unsigned, it ' +
          'accepts deliveries from any sender.',
      );
    tell(`hookbox receives deliveries at ${url} and stores them in ${shownInbox(options)}`);
    return await stopped;
  } finally {
    await stopListening(server, async () => {
      await receiver.close();
      await forwarder?.close();
    });
  }
}

/** @throws CommandError that names the fault of the module */
export async function loadHandlers(file: string): Promise<{ handlers: Handlers; events: EventSchemas }> {
  const module = await importOwn(file);
  // A CommonJS module is its own default export, which contains its exports.
  const inner = insideDefault(module);
  const exported = [module.handlers, inner.handlers, inner.default, module.default].find((each) => each !== undefined);
  if (!isRecord(exported)) {
    throw usageError(`${file} exports no handlers. Add: export default { 'order.created': async (event) => { … } };`);
  }
  const handlers: Handlers = exported;
  const events = exportedSchemas(module, file);
  try {
    assertHandlers(handlers, events);
  } catch (failure) {
    throw usageError(`${file}: ${messageOf(failure)}`);
  }
  return { handlers, events };
}

function receiverOf(inbox: Inbox, { secret, handlers = {}, events = {} }: ServeOptions): Receiver {
  try {
    return createReceiver({
      ...(secret === null ? { unsafeUnsigned: true } : { secret }),
      inbox,
      handlers,
      events,
      processing: { mode: 'background' },
      logger: notices,
    });
  } catch (failure) {
    throw failure instanceof ConfigurationError ? usageError(failure.message) : failure;
  }
}

/** Shows the logs of handlers, and messages about several deliveries or events. Others have their own lines. */
const notices: Logger = { info: notice, warn: notice, error: notice };

function notice(facts: Readonly<Record<string, unknown>>, message: string): void {
  if (isAboutAttempt(message)) return;
  const isOfHandler = 'type' in facts;
  const hasItsLine = 'id' in facts || ('reason' in facts && !('cause' in facts));
  if (isOfHandler || !hasItsLine) consoleLogger.warn(facts, message);
}

function isOwnAddress(url: URL, { address, port }: AddressInfo): boolean {
  const portOfUrl = url.port === '' ? { 'http:': 80, 'https:': 443 }[url.protocol] : Number(url.port);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const own =
    address === '::' || address === '0.0.0.0'
      ? Object.values(networkInterfaces()).flatMap((each = []) => each.map((one) => one.address))
      : [address];
  const names = own.some(isLoopbackAddress) ? [...own, 'localhost'] : own;
  return portOfUrl === port && names.includes(host);
}

interface Exchange {
  outcome?: Outcome;
  event?: IncomingEvent;
  acceptance?: Acceptance;
}

const exchanges = new AsyncLocalStorage<Exchange>();

interface WebhookServerOptions {
  readonly receiver: Receiver;
  readonly path: string;
  readonly handled: readonly string[] | '*';
  readonly delivered: (report: DeliveryReport) => void;
  readonly accepted: (delivery: Forwarded) => void;
}

function webhookServer({ receiver, path, handled, delivered, accepted }: WebhookServerOptions): Server {
  const handle = webhookHandler({
    async receive(delivery) {
      const outcome = await receiver.receive(delivery);
      Object.assign(exchanges.getStore() ?? {}, { outcome });
      return outcome;
    },
  });

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = new Date();
    const startedAt = performance.now();
    const noted: Exchange = {};
    await exchanges.run(noted, () => handle(request, response));
    const { outcome, event, acceptance } = noted;
    if (outcome === undefined) return;
    const type = event?.type ?? null;
    const isHandled = handled.length === 0 || handled === '*' || (type !== null && handled.includes(type));
    delivered({
      kind: 'delivery',
      at,
      status: outcome.status,
      outcome: outcome.kind,
      type,
      id: 'id' in outcome ? outcome.id : (event?.id ?? null),
      ms: performance.now() - startedAt,
      reason: 'reason' in outcome ? outcome.reason : null,
      conflict: acceptance?.conflict ?? false,
      invalid: event?.valid === false,
      issue: event?.valid === false ? whyInvalid(event.body) : null,
      unhandled: event?.valid === true && outcome.kind === 'stored' && !isHandled,
    });
    if (event === undefined || outcome.status >= 300) return;
    const { 'x-signature': signature, 'content-type': contentType } = request.headers;
    const wasForwarded = FORWARDED_HEADER.toLowerCase() in request.headers;
    accepted({ id: event.id, type, body: event.body, signature: signature?.toString(), contentType, wasForwarded });
  }

  return createServer((request, response) => {
    const [requested = ''] = request.url?.split('?', 1) ?? [];
    if (requested === path) {
      void exchange(request, response);
      return;
    }
    const error = { code: 'NOT_FOUND', message: `Send deliveries to ${path}.` };
    response.writeHead(404, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }));
    if (request.method !== 'POST') return;
    const reason = `no webhook at ${requested}`;
    const nothing = { type: null, id: null, conflict: false, invalid: false, issue: null, unhandled: false } as const;
    delivered({ kind: 'delivery', at: new Date(), status: 404, outcome: 'rejected', ms: 0, reason, ...nothing });
  });
}

interface Running {
  readonly claimed: ClaimedEvent;
  readonly startedAt: number;
  isReported: boolean;
}

/** The inbox. It reports the outcomes of handlers, and records the stored event of the delivery in progress. */
function observedInbox(inbox: Inbox, report: (attempt: AttemptReport) => void): Inbox {
  const running = new WeakMap<Lease, Running>();

  function ended(lease: Lease, outcome: AttemptReport['outcome'], error?: AttemptError, againAt?: number): void {
    const run = running.get(lease);
    if (run === undefined) return;
    run.isReported = true;
    report({
      kind: 'attempt',
      at: new Date(),
      outcome,
      type: labelOf(run.claimed.body).type,
      id: run.claimed.id,
      attempt: run.claimed.attempt,
      ms: performance.now() - run.startedAt,
      error: error?.message ?? null,
      stack: error?.stack ?? null,
      againAt: againAt === undefined ? null : new Date(againAt),
    });
  }

  function lost(lease: Lease): void {
    if (running.get(lease)?.isReported === false) ended(lease, 'lost');
  }

  return {
    ...inbox,
    async accept(event, deadline) {
      const acceptance = await inbox.accept(event, deadline);
      Object.assign(exchanges.getStore() ?? {}, { event, acceptance });
      return acceptance;
    },
    async claim(...requested) {
      const claimed = await inbox.claim(...requested);
      for (const event of claimed) {
        running.set(event.lease, { claimed: event, startedAt: performance.now(), isReported: false });
      }
      return claimed;
    },
    async renew(leases, ...more) {
      const held = await inbox.renew(leases, ...more);
      for (const lease of leases) if (!held.includes(lease)) lost(lease);
      return held;
    },
    async settle(lease, settlement, now) {
      const held = await inbox.settle(lease, settlement, now);
      const error = 'error' in settlement ? settlement.error : undefined;
      if (held === false && settlement.outcome !== 'committed') lost(lease);
      else if (held === 'committed alone') ended(lease, 'dead', COMMITTED_ALONE.error);
      else if (settlement.outcome === 'retry') ended(lease, 'failed', error, settlement.dueAt);
      else ended(lease, settlement.outcome === 'committed' ? 'processed' : settlement.outcome, error);
      return held;
    },
  };
}
