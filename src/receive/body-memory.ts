import type { BodyBuffer } from './delivery.ts';

type Stop = NonNullable<ReturnType<BodyBuffer['add']>>;

/** The initial size of a buffer. A Content-Length may lie, so no memory is allocated for announced bytes. */
const LEAST_BYTES = 1_024;
/** Nearly all deliveries are smaller. Larger bodies cannot fill the last eighth. */
const SMALL_BYTES = 64 * 1024;
const LEFT_TO_SMALL = 1 / 8;

/** Chunks cost time, whatever their size: a megabyte of single bytes costs as much as hundreds of deliveries. */
const MANY_CHUNKS = 4_096;
const TINY_BYTES = 16;

const NOTHING = Buffer.alloc(0);

/** The memory of all bodies whose senders are still unknown. Beyond the limit, the newest body gives way. */
export class ReadingRoom {
  readonly maxBytes: number;
  readonly #maxHeldBytes: number;
  readonly #maxLargeBytes: number;
  /** Incomplete bodies, oldest first. */
  readonly #arriving = new Set<Reading>();
  #held = 0;
  #heldByLarge = 0;

  constructor(maxBytes: number, maxHeldBytes: number) {
    this.maxBytes = maxBytes;
    this.#maxHeldBytes = maxHeldBytes;
    this.#maxLargeBytes = Math.max(maxBytes, maxHeldBytes * (1 - LEFT_TO_SMALL));
  }

  /** Bytes that are really allocated. */
  get held(): number {
    return this.#held;
  }

  open(): Reading {
    const reading = new Reading(this);
    this.#arriving.add(reading);
    return reading;
  }

  count(reading: Reading, bytes: number): void {
    this.#held += bytes - reading.held;
    this.#heldByLarge += largePart(bytes) - largePart(reading.held);
    reading.held = bytes;
  }

  make(reading: Reading, bytes: number): boolean {
    if (!this.#fits(reading, bytes)) this.#crowdOutLater(reading, bytes);
    if (!this.#fits(reading, bytes)) return false;
    this.count(reading, bytes);
    return true;
  }

  leave(reading: Reading): void {
    this.#arriving.delete(reading);
  }

  #fits(reading: Reading, bytes: number): boolean {
    const large = this.#heldByLarge + largePart(bytes) - largePart(reading.held);
    return this.#held + bytes - reading.held <= this.#maxHeldBytes && large <= this.#maxLargeBytes;
  }

  /** Ends the newest bodies that began later, until there is room. */
  #crowdOutLater(reading: Reading, bytes: number): void {
    if (!this.#arriving.has(reading)) return;
    const all = [...this.#arriving];
    for (const other of all.slice(all.indexOf(reading) + 1).toReversed()) {
      if (this.#fits(reading, bytes)) return;
      const isFull = this.#held + bytes - reading.held > this.#maxHeldBytes;
      if ((isFull ? other.held : largePart(other.held)) > 0) other.crowdOut();
    }
  }
}

function largePart(bytes: number): number {
  return bytes > SMALL_BYTES ? bytes : 0;
}

/** Copies a body into one buffer, because a tiny chunk of a server holds hundreds of bytes. */
export class Reading implements BodyBuffer {
  /** Resolves when earlier bodies needed the memory. */
  readonly crowdedOut: Promise<'no-room'>;
  /** Released everything, because the memory was full. */
  isRefused = false;
  held = 0;
  readonly #room: ReadingRoom;
  readonly #reject: (why: 'no-room') => void;
  #buffer = NOTHING;
  #size = 0;
  #chunks = 0;
  #expected = 0;
  #isOver = false;

  constructor(room: ReadingRoom) {
    this.#room = room;
    const { promise, resolve } = Promise.withResolvers<'no-room'>();
    this.crowdedOut = promise;
    this.#reject = resolve;
  }

  expect(bytes: number): 'too-large' | null {
    if (bytes > this.#room.maxBytes) return 'too-large';
    this.#expected = bytes;
    return null;
  }

  add(chunk: Uint8Array): Stop | null {
    if (this.#isOver) return 'no-room';
    const size = this.#size + chunk.byteLength;
    if (size > this.#room.maxBytes) return 'too-large';
    this.#chunks += 1;
    if (this.#chunks > MANY_CHUNKS && size < this.#chunks * TINY_BYTES) return 'tiny-chunks';
    if (size > this.#buffer.byteLength && !this.#grow(size)) return 'no-room';
    this.#buffer.set(chunk, this.#size);
    this.#size = size;
    return null;
  }

  bytes(): Uint8Array {
    // The body will be kept, and the unused rest of its buffer must not be.
    if (this.#size < this.#buffer.byteLength) this.#moveTo(this.#size);
    this.#room.count(this, this.#buffer.byteLength);
    this.#room.leave(this);
    return this.#buffer;
  }

  /** Counts bytes outside the buffer. `false` if the memory is full. */
  holds(bytes: number): boolean {
    if (this.#isOver || (bytes > this.held && !this.#room.make(this, bytes))) {
      this.crowdOut();
      return false;
    }
    this.#room.leave(this);
    return true;
  }

  crowdOut(): void {
    this.isRefused = true;
    this.close();
    this.#reject('no-room');
  }

  close(): void {
    this.#isOver = true;
    this.#room.count(this, 0);
    this.#room.leave(this);
    this.#buffer = NOTHING;
    this.#size = 0;
  }

  #grow(size: number): boolean {
    // At most twice the arrived bytes, and at most the announced size unless more has arrived.
    const most = size <= this.#expected ? this.#expected : this.#room.maxBytes;
    const bytes = Math.min(Math.max(size, 2 * this.#buffer.byteLength, LEAST_BYTES), most);
    if (!this.#room.make(this, bytes)) {
      this.crowdOut();
      return false;
    }
    this.#moveTo(bytes);
    return true;
  }

  #moveTo(bytes: number): void {
    // A slice of Node's pool would keep the whole pool.
    const larger = Buffer.allocUnsafeSlow(bytes);
    larger.set(this.#buffer.subarray(0, this.#size));
    this.#buffer = larger;
  }
}
