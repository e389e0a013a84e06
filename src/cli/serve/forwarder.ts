import { clearTimeout, performance, setTimeout } from '../../host/real-timers.ts';
import { messageOf } from '../../errors.ts';
import { oneLine } from '../../printable.ts';
import { deliver } from '../../sender/deliver.ts';
import { concurrencyLimit } from '../../sender/service.ts';
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
  /** Sends the waiting deliveries, for some seconds at most. */
  close(): Promise<void>;
}

/** Marks forwarded deliveries, so that two servers do not forward them in a circle. */
export const FORWARDED_HEADER = 'X-Hookbox-Forwarded';

const CONCURRENCY = 16;
/** A server that is too slow must not fill the memory with bodies. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
const OVERHEAD_BYTES = 1_024;
const CLOSE_MS = 10_000;
const ANSWER_CHARACTERS = 200;

export function createForwarder(to: URL, report: (forward: ForwardReport) => void): Forwarder {
  const takeSlot = concurrencyLimit(CONCURRENCY);
  const underWay = new Set<Promise<void>>();
  let waitingBytes = 0;
  let isTooLate = false;
  let remarkedCircle = false;

  const sizeOf = ({ body }: Forwarded): number => body.byteLength + OVERHEAD_BYTES;

  async function sendInTurn(delivery: Forwarded): Promise<void> {
    waitingBytes += sizeOf(delivery);
    const giveBack = await takeSlot();
    waitingBytes -= sizeOf(delivery);
    if (isTooLate) leaveOut(delivery, 'hookbox serve is stopping');
    else await send(delivery);
    giveBack();
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
        const work = sendInTurn(delivery).finally(() => underWay.delete(work));
        underWay.add(work);
      }
    },
    async close() {
      const late = setTimeout(() => (isTooLate = true), CLOSE_MS);
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
