import { clearTimeout, performance, setTimeout } from '../../host/real-timers.ts';
import { messageOf } from '../../errors.ts';
import { oneLine } from '../../printable.ts';
import { deliver } from '../../sender/deliver.ts';
import { tell } from '../shared/output.ts';
import type { ForwardReport } from './serve-reports.ts';

export interface Forwarded {
  readonly id: string;
  readonly type: string | null;
  readonly body: Uint8Array;
  readonly signature: string | undefined;
  readonly contentType: string | undefined;
  readonly wasForwarded: boolean;
}

interface Forwarder {
  forward(delivery: Forwarded): void;
  /** Sends what waits, for some seconds at most. */
  close(): Promise<void>;
}

/** Marks forwarded deliveries, so that they do not go round in a circle. */
export const FORWARDED_HEADER = 'X-Hookbox-Forwarded';

const CONCURRENCY = 16;
/** A server that is too slow must not fill the memory with bodies. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const OVERHEAD_BYTES = 1_024;
const CLOSE_MS = 10_000;
const ANSWER_CHARACTERS = 200;

export function createForwarder(to: URL, report: (forward: ForwardReport) => void): Forwarder {
  const waiting: Forwarded[] = [];
  const underWay = new Set<Promise<void>>();
  let waitingBytes = 0;
  let remarkedCircle = false;

  const sizeOf = ({ body }: Forwarded): number => body.byteLength + OVERHEAD_BYTES;

  function next(): Forwarded | undefined {
    const delivery = waiting.shift();
    if (delivery !== undefined) waitingBytes -= sizeOf(delivery);
    return delivery;
  }

  function pump(): void {
    while (underWay.size < CONCURRENCY) {
      const delivery = next();
      if (delivery === undefined) return;
      const work = send(delivery).finally(() => {
        underWay.delete(work);
        pump();
      });
      underWay.add(work);
    }
  }

  async function send(delivery: Forwarded): Promise<void> {
    const { body, signature = null, contentType } = delivery;
    const headers = { [FORWARDED_HEADER]: '1', 'Content-Type': contentType };
    const at = new Date();
    const startedAt = performance.now();
    const ended = await deliver(to, body, { signature, headers }).then(
      (answer) => ({ status: answer.status, answer: beginningOf(answer.body), problem: null }),
      (failure: unknown) => ({ status: null, answer: null, problem: messageOf(failure) }),
    );
    const { type, id } = delivery;
    report({ kind: 'forward', at, type, id, ms: performance.now() - startedAt, to: to.href, ...ended });
  }

  function leaveOut({ type, id }: Forwarded, why: string): void {
    const problem = `${why}; to send it: hookbox replay ${id} --to ${to.href}`;
    report({ kind: 'forward', at: new Date(), status: null, type, id, ms: 0, to: to.href, answer: null, problem });
  }

  function remarkCircle({ id }: Forwarded): void {
    if (remarkedCircle) return;
    remarkedCircle = true;
    tell(
      `note: another hookbox serve forwarded ${oneLine(id)} (${FORWARDED_HEADER}), so this one does not forward it ` +
        'or other deliveries with this header.',
    );
  }

  return {
    forward(delivery) {
      if (delivery.wasForwarded) remarkCircle(delivery);
      else if (waitingBytes + sizeOf(delivery) > MAX_WAITING_BYTES)
        leaveOut(delivery, 'too many deliveries are waiting');
      else {
        waitingBytes += sizeOf(delivery);
        waiting.push(delivery);
        pump();
      }
    },
    async close() {
      const late = setTimeout(() => {
        for (let left = next(); left !== undefined; left = next()) leaveOut(left, 'hookbox serve is stopping');
      }, CLOSE_MS);
      while (underWay.size > 0) await Promise.all(underWay);
      clearTimeout(late);
    },
  };
}

function beginningOf(answer: string): string | null {
  const text = answer.replaceAll(/\s+/g, ' ').trim();
  if (text === '') return null;
  return text.length > ANSWER_CHARACTERS ? `${text.slice(0, ANSWER_CHARACTERS)}…` : text;
}
