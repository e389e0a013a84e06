import { Agent as HttpAgent, STATUS_CODES } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { performance } from '../../../host/real-timers.ts';
import { deliver, DeliveryError, type Answer } from '../../../sender/deliver.ts';
import type { Secret } from '../../../signing/signature.ts';
import { messageOf } from '../../../errors.ts';
import { oneLine } from '../../../printable.ts';
import { tenths } from '../output.ts';

/** How one delivery went. */
export interface Sent {
  /** `null` when there was no answer */
  readonly status: number | null;
  readonly ms: number;
  /** what a receiver of hookbox says about an event it has accepted; `null` where it is not said */
  readonly duplicate: boolean | null;
  /** of an error answer that has the shape of interface 7.2 */
  readonly code: string | null;
  /** why there was no answer, or why the answer is a failure */
  readonly problem: string | null;
  /** nothing listens there */
  readonly refused: boolean;
}

/** Sends bodies to one URL over connections that are kept. */
export interface Sender {
  /** @param signature - sent instead of the right one; `null` sends none */
  send(body: Uint8Array, signature?: string | null): Promise<Sent>;
  close(): void;
}

/** Makes the sender to one URL, which signs with a secret unless a signature is given. */
export function createSender(
  to: URL,
  secret: Secret,
  concurrency: number,
  headers: Readonly<Record<string, string>> = {},
): Sender {
  const Agent = to.protocol === 'https:' ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  return {
    async send(body, signature) {
      const startedAt = performance.now();
      const elapsed = (): number => tenths(performance.now() - startedAt);
      try {
        const answer = await deliver(to, body, {
          secret,
          agent,
          headers,
          ...(signature !== undefined && { signature }),
        });
        return { status: answer.status, ms: elapsed(), ...saidBy(answer), refused: false };
      } catch (failure) {
        const refused = failure instanceof DeliveryError && failure.code === 'REFUSED';
        const problem = oneLine(messageOf(failure));
        return { status: null, ms: elapsed(), duplicate: null, code: null, problem, refused };
      }
    },
    close: () => agent.destroy(),
  };
}

function saidBy({ status, headers, body }: Answer): Pick<Sent, 'duplicate' | 'code' | 'problem'> {
  const { duplicate, error } = jsonOf(body);
  const code = typeof error?.code === 'string' ? oneLine(error.code, 60) : null;
  if (status >= 300 && status < 400) {
    const location = typeof headers['location'] === 'string' ? ` (to ${oneLine(headers['location'])})` : '';
    return { duplicate: null, code, problem: `hookbox does not follow redirects${location}` };
  }
  if (status < 200 || status >= 400) return { duplicate: null, code, problem: code ?? STATUS_CODES[status] ?? null };
  return { duplicate: typeof duplicate === 'boolean' ? duplicate : null, code: null, problem: null };
}

interface PossibleAnswer {
  readonly duplicate?: unknown;
  readonly error?: { readonly code?: unknown } | null;
}

function jsonOf(text: string): PossibleAnswer {
  try {
    return (JSON.parse(text) ?? {}) as PossibleAnswer;
  } catch {
    return {};
  }
}
