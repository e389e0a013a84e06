import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { orderEvent, type OrderEvent } from './order-event.ts';
import { freshForMs, signedHeaders, type SigningScheme } from './signing-schemes.ts';

/** A file of signed HTTP requests, each with an event id of its own, each preceded by its length in two bytes. */
export interface RequestPool {
  readonly file: string;
  readonly count: number;
  /** From the start again when all were sent, for servers that remember nothing. */
  readonly again: boolean;
}

/** A pool of deliveries. */
export interface DeliveryPool extends RequestPool {
  /** An event that was certainly sent in a load over this pool. */
  readonly sent: OrderEvent;
}

interface KeptPool extends DeliveryPool {
  readonly writtenAt: number;
}

const CHUNK_BYTES = 4 * 1024 * 1024;
/** Enough that no cache of a processor holds them all. */
const AGAIN_COUNT = 20_000;

/**
 * Requests made and signed before a load, so that the generator only copies bytes. Pools are kept between measurements:
 * each has a fresh database, so no id repeats within one.
 */
export class RequestPools {
  readonly #folder: string;
  readonly #kept = new Map<string, KeptPool>();
  // More than a store answers here; a faster machine is noticed by an exhausted pool.
  #perSecond = 30_000;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** For a server that stores, for so many seconds; another `purpose` has other ids. */
  async once(
    scheme: SigningScheme,
    purpose: string,
    seconds: number,
    requestsPerSecond?: number,
  ): Promise<DeliveryPool> {
    const count = seconds * (requestsPerSecond === undefined ? this.#perSecond : requestsPerSecond * 2);
    const pace = requestsPerSecond === undefined ? 'full' : 'paced';
    return this.#get(`${scheme}-${purpose}-${pace}`, scheme, count, false);
  }

  /** A pool was not enough: the next ones are twice as large. */
  grow(): void {
    this.#perSecond *= 2;
  }

  /** For a server that stores nothing: few requests, over and over. */
  async again(scheme: SigningScheme): Promise<DeliveryPool> {
    return this.#get(`${scheme}-again`, scheme, AGAIN_COUNT, true);
  }

  /** The route that has nothing to do with deliveries. */
  async unrelated(): Promise<RequestPool> {
    return this.same('unrelated', 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  }

  /** One request, over and over. */
  async same(name: string, request: string): Promise<RequestPool> {
    const file = join(this.#folder, `${name}.bin`);
    await using handle = await open(file, 'w');
    await handle.write(withLength(request));
    return { file, count: 1, again: true };
  }

  /** The next pools have ids that none has had: for a file that is used twice. */
  forget(): void {
    this.#kept.clear();
  }

  async #get(name: string, scheme: SigningScheme, count: number, again: boolean): Promise<DeliveryPool> {
    const pool = this.#kept.get(name);
    if (pool && pool.count >= count && Date.now() - pool.writtenAt < freshForMs) return pool;
    const writtenAt = Date.now();
    const file = join(this.#folder, `${name}.bin`);
    const written = { file, count, again, sent: await writePool(file, scheme, count), writtenAt };
    this.#kept.set(name, written);
    return written;
  }
}

/** Gives an event that any load over the file sends. */
async function writePool(file: string, scheme: SigningScheme, count: number): Promise<OrderEvent> {
  // wrk asks for the first request only to look at it, so the second is the first that a load sends.
  const unsent = orderEvent();
  const sent = orderEvent();
  await using handle = await open(file, 'w');
  let chunk: Buffer[] = [];
  let chunkBytes = 0;
  for (let index = 0; index < Math.max(2, count); index += 1) {
    const event = index === 0 ? unsent : index === 1 ? sent : orderEvent();
    const request = withLength(rawRequest(scheme, event));
    chunk.push(request);
    chunkBytes += request.length;
    if (chunkBytes > CHUNK_BYTES) {
      await handle.write(Buffer.concat(chunk));
      chunk = [];
      chunkBytes = 0;
    }
  }
  await handle.write(Buffer.concat(chunk));
  // On the disk now, or the kernel writes it back during a measurement and competes with the commits.
  await handle.sync();
  return sent;
}

function withLength(request: string): Buffer {
  const bytes = Buffer.from(request);
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function rawRequest(scheme: SigningScheme, event: OrderEvent): string {
  let head = 'POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
  for (const [name, value] of Object.entries(signedHeaders(scheme, event))) head += `${name}: ${value}\r\n`;
  return `${head}Content-Length: ${Buffer.byteLength(event.body)}\r\n\r\n${event.body}`;
}
