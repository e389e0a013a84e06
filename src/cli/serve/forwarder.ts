import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { messageOf } from '../../errors.ts';
import { clearTimeout, performance, setTimeout } from '../../host/real-timers.ts';
import { oneLine } from '../../printable.ts';
import { tell } from '../shared/output.ts';
import type { ForwardReport } from './serve-reports.ts';

/** Sends deliveries on to another server, which sees the bytes and the signature that came. */
interface Forwarder {
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

/** A delivery as it came. */
export interface Forwarded {
  readonly id: string;
  readonly type: string | null;
  readonly body: Uint8Array;
  readonly signature: string | undefined;
  readonly contentType: string | undefined;
  /** another `serve` has sent it on already */
  readonly wasForwarded: boolean;
}

/** What the other server said. */
interface ForwardAnswer {
  readonly status: number;
  /** the beginning of it; `null` when it is empty */
  readonly answer: string | null;
}

/** Marks what was sent on, so that it does not go round in a circle. */
export const FORWARDED_HEADER = 'X-Hookbox-Forwarded';

const TIMEOUT_MS = 10_000;
const ANSWER_CHARACTERS = 200;
const ANSWER_BYTES = 1_024;

/**
 * Sends one delivery on with its bytes, signature and content type, over a connection of its own. Redirects are not
 * followed.
 *
 * @throws Error when there is no answer; its message says why in a few words
 */
function forwardRequest(to: URL, { body, signature, contentType }: Forwarded): Promise<ForwardAnswer> {
  const headers = {
    'Content-Length': body.byteLength,
    [FORWARDED_HEADER]: '1',
    ...(contentType !== undefined && { 'Content-Type': contentType }),
    ...(signature !== undefined && { 'X-Signature': signature }),
  };
  const request = to.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(to, { method: 'POST', headers, agent: false });
    const tooLate = new Error(`no answer within ${TIMEOUT_MS / 1_000} s`);
    const timer = setTimeout(() => sent.destroy(tooLate), TIMEOUT_MS);
    sent.on('error', (failure) => reject(described(failure)));
    sent.on('close', () => clearTimeout(timer));
    sent.on('response', (received) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const done = (): void => {
        resolve({ status: received.statusCode ?? 0, answer: beginningOf(Buffer.concat(chunks)) });
        sent.destroy();
      };
      received.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.byteLength;
        if (size >= ANSWER_BYTES) done();
      });
      received.on('error', done).on('close', done);
    });
    sent.end(body);
  });
}

function beginningOf(answer: Buffer): string | null {
  const text = answer.subarray(0, ANSWER_BYTES).toString().replaceAll(/\s+/g, ' ').trim();
  if (text === '') return null;
  return text.length > ANSWER_CHARACTERS ? `${text.slice(0, ANSWER_CHARACTERS)}…` : text;
}

/** An error of several addresses has no message. */
function described(failure: NodeJS.ErrnoException): Error {
  if (failure.code === 'ECONNREFUSED') return new Error('the connection was refused', { cause: failure });
  return new Error(messageOf(failure) || (failure.code ?? 'it failed'), { cause: failure });
}
