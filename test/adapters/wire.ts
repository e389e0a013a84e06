import { connect as openSocket, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface Answer {
  readonly status: number;
  /** By lower-case name; repeated values are joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Speaks HTTP/1.1 by hand, because clients hide where a body is split and when a connection ends. Keeps its half open. */
export interface Connection extends AsyncDisposable {
  readonly socket: Socket;
  /** Resolves when the kernel has taken the bytes, or the socket is closed. */
  write(part: Uint8Array | string): Promise<void>;
  /** Writes slowly, as over a network: a server that closes too soon resets the connection and the answer is lost. */
  writeBeforeReading(bytes: Uint8Array): Promise<void>;
  /** An interim answer (1xx) counts. Rejects when the connection ends first. */
  answer(of?: 'HEAD'): Promise<Answer>;
  /** The server closed its half, or reset the connection. */
  readonly ended: Promise<void>;
  readonly closed: Promise<void>;
  /** Resets the connection. */
  abort(): void;
}

/** Slower than a loopback. */
const PIECE = { bytes: 50_000, pauseMs: 2 };

export async function connect(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url);
  const socket = openSocket({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
  await once(socket, 'connect');
  let received: Buffer = Buffer.alloc(0);
  let over = false;
  let wake: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      over = true;
      wake();
      resolve();
    };
    socket.once('end', end);
    socket.once('close', end);
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => {}); // a reset shows in `closed` and in missing answers
  socket.on('data', (part: Buffer) => {
    received = Buffer.concat([received, part]);
    wake();
  });

  async function write(part: Uint8Array | string): Promise<void> {
    if (socket.destroyed) return;
    // After a reset, the callback is never called for waiting bytes.
    await Promise.race([new Promise((resolve) => socket.write(part, resolve)), closed]);
  }

  return {
    socket,
    ended,
    closed,
    write,
    async writeBeforeReading(bytes) {
      socket.pause();
      for (let at = 0; at < bytes.byteLength; at += PIECE.bytes) {
        await write(bytes.subarray(at, at + PIECE.bytes));
        await delay(PIECE.pauseMs);
      }
      socket.resume();
    },
    async answer(of) {
      for (;;) {
        const parsed = parseAnswer(received, { bodiless: of === 'HEAD', over });
        if (parsed !== null) {
          received = received.subarray(parsed.length);
          return parsed.answer;
        }
        if (over)
          throw new Error(`the connection ended before an answer; received ${JSON.stringify(String(received))}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    abort: () => void socket.resetAndDestroy(),
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}

export interface RequestParts {
  readonly method?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  /** `none` sends neither header. */
  readonly framing?: 'content-length' | 'chunked' | 'none';
}

export function requestBytes(url: string, parts: RequestParts = {}): Buffer {
  const { body = new Uint8Array(), framing = 'content-length' } = parts;
  return Buffer.concat([requestHead(url, parts), framing === 'chunked' ? chunkedBody([body]) : body]);
}

/** `content-length` is that of the whole body. */
export function requestHead(url: string, parts: RequestParts = {}): Buffer {
  const { method = 'POST', headers = [], body = new Uint8Array(), framing = 'content-length' } = parts;
  const { host, pathname, search } = new URL(url);
  const lines = [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  if (framing === 'content-length') lines.push(`Content-Length: ${body.byteLength}`);
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

export const LAST_CHUNK = '0\r\n\r\n';

export function chunkedBody(parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat([...parts.filter((part) => part.byteLength > 0).map(chunk), Buffer.from(LAST_CHUNK)]);
}

export function chunk(part: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${part.byteLength.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
}

export async function send(url: string, parts: RequestParts = {}): Promise<Answer> {
  await using connection = await connect(url);
  // Not awaited: to write everything before reading is another case.
  void connection.write(requestBytes(url, parts));
  return await connection.answer(parts.method === 'HEAD' ? 'HEAD' : undefined);
}

interface ParsedAnswer {
  readonly answer: Answer;
  readonly length: number;
}

function parseAnswer(bytes: Buffer, { bodiless, over }: { bodiless: boolean; over: boolean }): ParsedAnswer | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value);
  }
  const start = headEnd + 4;
  const body = bodyAt(bytes, start, { headers, bodiless: bodiless || status < 200 || status === 204, over });
  return body && { answer: { status, headers, body: body.text }, length: body.end };
}

function bodyAt(
  bytes: Buffer,
  start: number,
  { headers, bodiless, over }: { headers: ReadonlyMap<string, string>; bodiless: boolean; over: boolean },
): { text: string; end: number } | null {
  if (bodiless) return { text: '', end: start };
  if (headers.get('transfer-encoding') === 'chunked') return chunkedBodyAt(bytes, start);
  const length = headers.get('content-length');
  if (length === undefined) return over ? { text: bytes.toString('utf8', start), end: bytes.byteLength } : null;
  const end = start + Number(length);
  return bytes.byteLength < end ? null : { text: bytes.toString('utf8', start, end), end };
}

function chunkedBodyAt(bytes: Buffer, start: number): { text: string; end: number } | null {
  const parts: Buffer[] = [];
  for (let at = start; ;) {
    const sizeEnd = bytes.indexOf('\r\n', at);
    if (sizeEnd === -1) return null;
    const size = Number.parseInt(bytes.toString('latin1', at, sizeEnd), 16);
    const end = sizeEnd + 2 + size;
    if (bytes.byteLength < end + 2) return null;
    if (size === 0) return { text: Buffer.concat(parts).toString(), end: end + 2 };
    parts.push(bytes.subarray(sizeEnd + 2, end));
    at = end + 2;
  }
}
