import { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { delay } from '../host/real-timers.ts';
import { nameOf } from '../errors.ts';
import { DeliveryError, signatureOf, type Answer } from '../sender/deliver.ts';
import type { Fault, WireFault } from '../sender/faults.ts';
import { requestWith, sentWith, type Seen } from '../sender/faulty-request.ts';
import type { Secret } from '../signing/signature.ts';
import { answerInTime, DEFAULT_PATH, type DeliveryTarget } from '../testing/deliver-to.ts';
import { signedHeaders } from '../testing/signed-request.ts';

/** A target in this process. */
export interface LocalReceiver {
  /** A receiver, fetch handler, Hono app, Express app, `node:http` handler, server or Fastify instance. */
  readonly to: Exclude<DeliveryTarget, string | URL>;
  /**
   * The path of the webhook in an app or a handler.
   *
   * @defaultValue `'/webhooks'`
   */
  readonly path?: string;
  /** The kind of the target function, if its parameters do not show the kind. */
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
