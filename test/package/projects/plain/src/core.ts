/** The whole of hookbox without a framework: receive, keep, handle, rerun, parse. */
import {
  createProcessor,
  createReceiver,
  isKnown,
  parseEvent,
  rerun,
  type EventOf,
  type Handlers,
  type Inbox,
  type InvalidEvent,
  type Logger,
  type Outcome,
  type Receiver,
  type ReceiverOptions,
  type UnknownEvent,
  type WebhookEvent,
} from 'hookbox';
import { memoryInbox } from 'hookbox/memory';
import { sqliteInbox } from 'hookbox/sqlite';

const handlers: Handlers = {
  'order.created': async (event, context) => {
    const created: EventOf<'order.created'> = event;
    await context.transaction((database) => {
      database.prepare('INSERT INTO orders VALUES (?)').run(created.data.id);
    });
  },
  '*': (event) => console.log(event.type),
};

const logger: Logger = { info() {}, warn: console.warn, error: console.error };

/** The secret comes from the environment, where it may be missing, and hookbox refuses to start without. */
export function receiverOn(inbox: Inbox): Receiver {
  const secret = process.env['SIGNING_SECRET'];
  const options: ReceiverOptions = { secret, inbox, handlers, logger, processing: { mode: 'inline' } };
  return createReceiver(options);
}

export async function received(body: Uint8Array, signature: string | null): Promise<Outcome> {
  await using inbox = sqliteInbox('shop.db', { maxWaiting: 10 });
  const worker = createProcessor({ inbox, handlers: { 'order.ready': (event) => console.log(event.data.id) } });
  await worker.start();
  await rerun(inbox, { endpoint: 'default', id: 'evt_1' });
  return receiverOn(memoryInbox({ ephemeral: true })).receive({ body, signature, method: 'POST' });
}

export function totalOf(body: Uint8Array): number | null | undefined {
  const parsed = parseEvent(body);
  if (!parsed.ok || !parsed.known || parsed.event.type !== 'order.created') return undefined;
  return parsed.event.data.total;
}

export function summary(event: WebhookEvent | UnknownEvent | InvalidEvent): string {
  if (event.type === null) return `${event.issues.length} issues`;
  if (!isKnown(event)) return event.type;
  return event.type === 'cart.abandoned' ? `${event.data.item_count} items` : event.id;
}
