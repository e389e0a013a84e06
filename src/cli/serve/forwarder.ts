import { clearTimeout, performance, setTimeout } from '../../host/real-timers.ts';
import { messageOf } from '../../errors.ts';
import { oneLine } from '../../printable.ts';
import { tell } from '../shared/output.ts';
import { FORWARDED_HEADER, forwardRequest, type ForwardAnswer, type Forwarded } from './forward-request.ts';
import type { ForwardReport } from './serve-reports.ts';

/** Sends deliveries on to another server, which sees the bytes and the signature that came. */
export interface Forwarder {
  /** Returns at once; how it went is reported. */
  forward(delivery: Forwarded): void;
  /** Sends what waits, for some seconds at most, and resolves when nothing is under way. */
  close(): Promise<void>;
}

const CONCURRENCY = 16;
/** A server that is too slow must not fill the memory with bodies. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** What keeping a delivery takes besides its body. */
const OVERHEAD_BYTES = 1_024;
const CLOSE_MS = 10_000;

/** Makes the forwarder to one URL. */
export function createForwarder(to: URL, report: (forward: ForwardReport) => void): Forwarder {
  const waiting: Forwarded[] = [];
  const underWay = new Set<Promise<void>>();
  let waitingBytes = 0;
  let remarkedCircle = false;

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
    const at = new Date();
    const startedAt = performance.now();
    const ended = await forwardRequest(to, delivery).catch((failure: unknown) => messageOf(failure));
    reportOn(delivery, at, performance.now() - startedAt, ended);
  }

  function reportOn({ type, id }: Forwarded, at: Date, ms: number, ended: ForwardAnswer | string): void {
    const { status, answer } = typeof ended === 'string' ? { status: null, answer: null } : ended;
    const problem = typeof ended === 'string' ? ended : null;
    report({ kind: 'forward', at, status, type, id, ms, to: to.href, answer, problem });
  }

  function leaveOut(delivery: Forwarded, why: string): void {
    reportOn(delivery, new Date(), 0, `${why}; to send it: hookbox replay ${delivery.id} --to ${to.href}`);
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

function sizeOf({ body }: Forwarded): number {
  return body.byteLength + OVERHEAD_BYTES;
}
