import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { signBody } from '../../src/signing/signature.ts';
import { SECRET } from './checking.ts';

/** One request, as an endpoint sees it. */
export interface Asked {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly isAuthentic: boolean;
  /** the id in the body, of what is JSON */
  readonly id: string | null;
  /** what a right endpoint answers */
  readonly right: number;
}

/** A status alone, a whole answer, or none. */
export type Reply =
  | number
  | {
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** `false` leaves the body without an end */
      readonly ends?: boolean;
    }
  | 'cut'
  | 'none';

const MAX_BYTES = 1024 * 1024;

/** A right endpoint, but for what the script changes. Each event that it took has one effect. */
export function scriptedEndpoint(
  reply: (asked: Asked) => Reply | Promise<Reply> = ({ right }) => right,
): RequestListener {
  const taken = new Set<string>();
  return (request, response) => {
    const path = request.url ?? '/';
    if (path.startsWith('/effects/')) return void response.end(taken.has(path.slice('/effects/'.length)) ? '1' : '0');
    if (path !== '/webhooks') return void response.writeHead(404).end();
    return void asked(request)
      .then(async (question) => {
        const answer = await reply(question);
        const status = typeof answer === 'object' ? answer.status : answer;
        if (typeof status === 'number' && status < 300 && question.id !== null) taken.add(question.id);
        send(request, response, answer);
      })
      .catch(() => response.destroy());
  };
}

async function asked(request: IncomingMessage): Promise<Asked> {
  const body = await buffer(request);
  const { method = '', headers } = request;
  const isAuthentic = headers['x-signature'] === signBody(body, SECRET);
  const id = idIn(body);
  return { method, headers, body, isAuthentic, id, right: rightStatus(method, body, isAuthentic, id) };
}

function rightStatus(method: string, body: Buffer, isAuthentic: boolean, id: string | null): number {
  if (method !== 'POST') return 405;
  if (body.byteLength > MAX_BYTES) return 413;
  if (!isAuthentic) return 401;
  return id === null ? 400 : 200;
}

function idIn(body: Buffer): string | null {
  try {
    return (JSON.parse(body.toString()) as { id: string }).id;
  } catch {
    return null;
  }
}

function send(request: IncomingMessage, response: ServerResponse, answer: Reply): void {
  if (answer === 'none') return;
  if (answer === 'cut') return void request.socket.destroy();
  const { status, body, headers = {}, ends = true } = typeof answer === 'number' ? { status: answer } : answer;
  response.writeHead(status, headers);
  if (ends) response.end(body);
  else response.write(body ?? '');
}
