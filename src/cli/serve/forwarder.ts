import { messageOf } from '../../errors.ts';
import { tell } from '../output.ts';
import type { ForwardHappening } from './happenings.ts';

/** A delivery as it came. */
export interface Forwarded {
  readonly id: string;
  readonly type: string | null;
  readonly body: Uint8Array;
  readonly signature: string | undefined;
  readonly contentType: string | undefined;
}

/** Sends deliveries on to another server, which sees the bytes and the signature that came. */
export interface Forwarder {
  /** Returns at once; how it went is reported. */
  forward(delivery: Forwarded): void;
  /** Drops what waits, and resolves when nothing is under way. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 10_000;
const CONCURRENCY = 16;
/** A server that is too slow must not fill the memory with bodies. */
const MAX_WAITING = 1_000;

export function createForwarder(to: URL, report: (happening: ForwardHappening) => void): Forwarder {
  const waiting: Forwarded[] = [];
  const underWay = new Set<Promise<void>>();
  let dropped = 0;

  function pump(): void {
    while (underWay.size < CONCURRENCY) {
      const next = waiting.shift();
      if (next === undefined) return;
      const work = send(next).finally(() => {
        underWay.delete(work);
        pump();
      });
      underWay.add(work);
    }
  }

  async function send({ id, type, body, signature, contentType }: Forwarded): Promise<void> {
    const at = new Date();
    const startedAt = performance.now();
    let status: number | null = null;
    let problem: string | null = null;
    try {
      const answer = await fetch(to, {
        method: 'POST',
        body: Buffer.from(body),
        headers: {
          ...(contentType !== undefined && { 'Content-Type': contentType }),
          ...(signature !== undefined && { 'X-Signature': signature }),
        },
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      status = answer.status;
      await answer.body?.cancel();
    } catch (failure) {
      problem = problemOf(failure);
    }
    report({ kind: 'forward', at, status, type, id, ms: performance.now() - startedAt, to: to.href, problem });
  }

  return {
    forward(delivery) {
      if (waiting.length < MAX_WAITING) waiting.push(delivery);
      else dropped += 1;
      pump();
    },
    async close() {
      dropped += waiting.splice(0).length;
      while (underWay.size > 0) await Promise.all(underWay);
      if (dropped > 0) tell(`${dropped} deliveries were not forwarded: ${to.origin} was too slow for them.`);
    },
  };
}

function problemOf(failure: unknown): string {
  if (failure instanceof DOMException && failure.name === 'TimeoutError') {
    return `no answer within ${TIMEOUT_MS / 1_000} s`;
  }
  // fetch itself says nothing but that it failed.
  const cause = failure instanceof Error ? (failure.cause as NodeJS.ErrnoException | undefined) : undefined;
  if (cause?.code === 'ECONNREFUSED') return 'the connection was refused';
  return cause === undefined ? messageOf(failure) : cause.message || (cause.code ?? 'failed');
}
