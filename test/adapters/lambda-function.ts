import { setTimeout as delay } from 'node:timers/promises';
import { webhookHandler, type FunctionContext, type HttpEvent, type HttpResult } from '../../adapters/aws-lambda.ts';
import { createReceiver, type Inbox, type ReceiverOptions } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { GatewayRequest } from './lambda-events.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { SECRET, type SignedDelivery } from '../helpers/signed-event.ts';
import type { Answer } from './wire.ts';

export interface Deployed {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
  readonly ran: readonly unknown[];
  readonly call: (event: object | null, context?: FunctionContext) => Promise<HttpResult>;
}

export function deployed(options: Partial<ReceiverOptions> = {}): Deployed {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const ran: unknown[] = [];
  const handlers: ReceiverOptions['handlers'] = {
    '*': async ({ id }) => {
      await delay(5);
      ran.push(id);
    },
  };
  const handler = webhookHandler(createReceiver({ secret: SECRET, inbox, logger, handlers, ...options }));
  return { inbox, log: lines, ran, call: async (event, context) => handler(event as HttpEvent, context) };
}

export function answerOf({ statusCode, headers, multiValueHeaders, body }: HttpResult): Answer {
  const all = Object.entries(headers ?? multiValueHeaders ?? {});
  return {
    status: statusCode,
    headers: new Map(all.map(([name, value]) => [name.toLowerCase(), String(value)])),
    body,
  };
}

export function asText({ headers, body }: SignedDelivery): GatewayRequest {
  return { headers, body: Buffer.from(body).toString() };
}

export function asBase64({ headers, body }: SignedDelivery): GatewayRequest {
  return { headers, body: Buffer.from(body).toString('base64'), isBase64Encoded: true };
}

export class Remaining implements FunctionContext {
  readonly #end: number;

  constructor(ms: number) {
    this.#end = performance.now() + ms;
  }

  getRemainingTimeInMillis(): number {
    return this.#end - performance.now();
  }
}
