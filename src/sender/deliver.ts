import { request, type Agent } from 'node:http';
import { signBody, type Secret } from '../signature.ts';

/** How the receiver answered a delivery. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface DeliveryOptions {
  readonly secret: Secret;
  /** sent instead of the right signature; `null` sends none */
  readonly signature?: string | null;
  /** success needs a 2xx within this time; 10 s as interface 6.4 says */
  readonly timeoutMs?: number;
  readonly agent?: Agent;
}

const TIMEOUT_MS = 10_000;

/**
 * Delivers a body as the service does: one signed POST, answered within 10 s (interface 6.3 and 6.4).
 *
 * @throws Error when there is no answer in time or no connection
 */
export function deliver(url: string | URL, body: Uint8Array, options: DeliveryOptions): Promise<Answer> {
  const { secret, timeoutMs = TIMEOUT_MS, agent } = options;
  const signature = options.signature === undefined ? signBody(body, secret) : options.signature;
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': body.byteLength,
    ...(signature !== null && { 'X-Signature': signature }),
  };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const sent = request(url, { method: 'POST', headers, signal, ...(agent && { agent }) }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
