import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { orderEvent, type OrderEvent } from './order-event.ts';
import { freshForMs, signedHeaders, type SigningScheme } from './signing-schemes.ts';

/** A file of signed HTTP requests, each with an event id of its own, each preceded by its length in two bytes. */
export interface RequestPool {
  readonly file: string;
  readonly count: number;
  /** An event that was certainly sent in a load over this pool. */
  readonly sent: OrderEvent;
}

interface StoredPool extends RequestPool {
  readonly writtenAt: number;
}

const CHUNK_BYTES = 4 * 1024 * 1024;

/**
 * Requests made and signed before a load, so that the generator only copies bytes. Pools are kept between cells: every
 * cell has a fresh database, so no id repeats within one.
 */
export class RequestPools {
  readonly #folder: string;
  readonly #pools = new Map<string, StoredPool>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** At least `count` requests; `purpose` keeps the ids of a warm-up apart from those that are measured. */
  async get(scheme: SigningScheme, purpose: 'warm-up' | 'measured', count: number): Promise<RequestPool> {
    const name = `${scheme}-${purpose}`;
    const pool = this.#pools.get(name);
    if (pool && pool.count >= count && Date.now() - pool.writtenAt < freshForMs) return pool;
    const written = await writePool(join(this.#folder, `${name}.bin`), scheme, count);
    this.#pools.set(name, written);
    return written;
  }
}

async function writePool(file: string, scheme: SigningScheme, count: number): Promise<StoredPool> {
  const writtenAt = Date.now();
  // wrk asks for the first request only to look at it, so the second is the first that a load sends.
  const unsent = orderEvent();
  const sent = orderEvent();
  await using handle = await open(file, 'w');
  let chunk: Buffer[] = [];
  let chunkBytes = 0;
  for (let index = 0; index < count; index += 1) {
    const event = index === 0 ? unsent : index === 1 ? sent : orderEvent();
    const request = Buffer.from(rawRequest(scheme, event));
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(request.length);
    chunk.push(length, request);
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
  return { file, count, sent, writtenAt };
}

function rawRequest(scheme: SigningScheme, event: OrderEvent): string {
  let head = 'POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
  for (const [name, value] of Object.entries(signedHeaders(scheme, event))) head += `${name}: ${value}\r\n`;
  return `${head}Content-Length: ${Buffer.byteLength(event.body)}\r\n\r\n${event.body}`;
}
