import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { performance } from '../../host/real-timers.ts';
import { webhookHandler } from '../../../adapters/node.ts';
import type { Acceptance, IncomingEvent } from '../../inbox/event.ts';
import type { Outcome } from '../../receive/outcome.ts';
import type { Receiver } from '../../receive/receiver.ts';
import { whyInvalid } from '../shared/own-module.ts';
import { FORWARDED_HEADER, type Forwarded } from './forward-request.ts';
import type { DeliveryReport } from './serve-reports.ts';

/** What is known of the delivery that is under way. */
interface Exchange {
  outcome?: Outcome;
  event?: IncomingEvent;
  acceptance?: Acceptance;
}

/** Where deliveries go, and who hears of them. */
export interface WebhookServerOptions {
  readonly receiver: Receiver;
  readonly path: string;
  /** the types that there is a handler for */
  readonly handled: readonly string[] | '*';
  readonly delivered: (report: DeliveryReport) => void;
  /** called for each delivery that was accepted, after it was answered */
  readonly accepted: (delivery: Forwarded) => void;
}

const exchanges = new AsyncLocalStorage<Exchange>();

/** What the inbox has made of the delivery that is under way. */
export function noteAcceptance(event: IncomingEvent, acceptance: Acceptance): void {
  Object.assign(exchanges.getStore() ?? {}, { event, acceptance });
}

/** An HTTP server that takes deliveries in at one path, and tells of each. */
export function webhookServer({ receiver, path, handled, delivered, accepted }: WebhookServerOptions): Server {
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
    const id = 'id' in outcome ? outcome.id : (event?.id ?? null);
    const type = event?.type ?? null;
    delivered({
      kind: 'delivery',
      at,
      status: outcome.status,
      outcome: outcome.kind,
      type,
      id,
      ms: performance.now() - startedAt,
      reason: 'reason' in outcome ? outcome.reason : null,
      conflict: acceptance?.conflict ?? false,
      invalid: event?.valid === false,
      issue: event?.valid === false ? whyInvalid(event.body) : null,
      unhandled: event?.valid === true && outcome.kind === 'stored' && !isHandled(event.type, handled),
    });
    if (event === undefined || outcome.status >= 300) return;
    const { 'x-signature': signature, 'content-type': contentType } = request.headers;
    const wasForwarded = FORWARDED_HEADER.toLowerCase() in request.headers;
    accepted({ id: event.id, type, body: event.body, signature: signature?.toString(), contentType, wasForwarded });
  }

  return createServer((request, response) => {
    const [asked = ''] = request.url?.split('?', 1) ?? [];
    if (asked === path) {
      void exchange(request, response);
      return;
    }
    answerNotFound(response, path);
    if (request.method === 'POST') delivered(misdirected(asked));
  });
}

/** Perhaps the service was given another path. */
function misdirected(asked: string): DeliveryReport {
  const reason = `no webhook at ${asked}`;
  const nothing = { type: null, id: null, conflict: false, invalid: false, issue: null, unhandled: false } as const;
  return { kind: 'delivery', at: new Date(), status: 404, outcome: 'rejected', ms: 0, reason, ...nothing };
}

/** Without any handlers, that was said at the start. */
function isHandled(type: string | null, handled: readonly string[] | '*'): boolean {
  return handled.length === 0 || handled === '*' || (type !== null && handled.includes(type));
}

function answerNotFound(response: ServerResponse, path: string): void {
  const error = { code: 'NOT_FOUND', message: `Send deliveries to ${path}.` };
  response.writeHead(404, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error }));
}
