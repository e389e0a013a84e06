import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import { messageOf } from '../../errors.ts';

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
export interface ForwardAnswer {
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
export function forwardRequest(to: URL, { body, signature, contentType }: Forwarded): Promise<ForwardAnswer> {
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
