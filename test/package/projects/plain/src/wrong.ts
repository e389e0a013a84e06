/** What must not compile: a directive whose next line is right is an error itself. */
import { createReceiver, type InvalidEvent, type UnknownEvent, type WebhookEvent } from 'hookbox';
import { webhookHandler } from 'hookbox/aws-lambda';
import { memoryInbox } from 'hookbox/memory';
import { webhookHandler as nodeHandler } from 'hookbox/node';

const secret = 'a signing secret';
const inbox = memoryInbox();

// @ts-expect-error -- a type that is misspelt
createReceiver({ secret, inbox, handlers: { 'order.crated': async () => {} } });

// @ts-expect-error -- a receiver needs an inbox
createReceiver({ secret });

export function totalOf(event: WebhookEvent | UnknownEvent | InvalidEvent): unknown {
  // @ts-expect-error -- only isKnown tells a typed event from one that merely has its type's name
  return event.type === 'order.created' ? event.data.total.toFixed(2) : undefined;
}

// @ts-expect-error -- the handler is made of a receiver
export const handler = nodeHandler({ secret });

export const queued = async (): Promise<unknown> =>
  // @ts-expect-error -- an event of a queue is no HTTP request
  webhookHandler(createReceiver({ secret, inbox }))({ Records: [] });
