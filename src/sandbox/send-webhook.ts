import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { delay } from '../host/real-timers.ts';
import { nameOf } from '../errors.ts';
import { DeliveryError, signatureOf, type Answer } from '../sender/deliver.ts';
import type { Fault, WireFault } from '../sender/faults.ts';
import { requestWith, sentWith, type Seen } from '../sender/faulty-request.ts';
import type { Secret } from '../signing/signature.ts';
import { answerInTime, DEFAULT_PATH } from '../testing/deliver-to.ts';
import type { DeliveryTarget } from '../testing/delivery-target.ts';
import { signedHeaders } from '../testing/signed-request.ts';

/** Something in this process that takes webhooks, and how it wants them. */
export interface LocalReceiver {
  /** a receiver, a fetch handler, a Hono app, an Express app, a handler of `node:http`, a server or a Fastify instance */
  readonly to: Exclude<DeliveryTarget, string | URL>;
  /** where an app or a handler has its webhook; `/webhooks` unless set */
  readonly path?: string;
  /** says what a function is whose parameters do not tell */
  readonly as?: 'fetch' | 'node';
}

/** Sends webhooks to wherever they go, one request a call, as interface 6.3 and 6.4 say. */
export interface WebhookSender {
  /** Never rejects, and never says what a receiver has answered or thrown beyond its status and its name. */
  send(
    destination: URL | LocalReceiver,
    body: Uint8Array,
    secret: Secret | null,
    faults: readonly Fault[],
  ): Promise<Seen>;
  /** Cuts what is under way. */
  close(): void;
}

/** @param timeoutMs - how long an answer is waited for, in real time */
export function webhookSender(timeoutMs: number): WebhookSender {
  const agents = { 'http:': new Agent({ keepAlive: true }), 'https:': new HttpsAgent({ keepAlive: true }) };
  return {
    send(destination, body, secret, faults) {
      const signed = { body, signature: signatureOf(body, secret) };
      if (destination instanceof URL) {
        const agent = destination.protocol === 'https:' ? agents['https:'] : agents['http:'];
        return requestWith(faults, destination, signed, { agent, timeoutMs });
      }
      return sentWith(faults, signed, ({ body: bytes, signature }, fault) => {
        const headers = signedHeaders(bytes, null, { signature });
        return handedOver(destination, { path: destination.path ?? DEFAULT_PATH, headers, bytes }, timeoutMs, fault);
      });
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  };
}

/** What a connection does to a request, where there is none: what is cut never arrives. */
async function handedOver(
  { to, as }: LocalReceiver,
  delivery: Parameters<typeof answerInTime>[1],
  timeoutMs: number,
  fault: WireFault | undefined,
): Promise<Pick<Answer, 'status' | 'note'>> {
  if (fault?.kind === 'cut') throw new DeliveryError('CUT', 'the connection was cut before the end of the body');
  if (fault?.kind === 'slow-body') await delay(fault.ms);
  const { status } = await answerInTime(to, delivery, timeoutMs, as).catch((failure: unknown) => {
    if (failure instanceof DeliveryError) throw failure;
    throw new DeliveryError('FAILED', `the receiver threw ${nameOf(failure)}`, { cause: failure });
  });
  if (fault?.kind === 'lost-answer') throw new DeliveryError('LOST', 'the answer was lost on the way');
  return { status, note: null };
}
