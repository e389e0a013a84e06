import type { BodyBuffer } from './delivery.ts';

type Stop = NonNullable<ReturnType<BodyBuffer['add']>>;

export interface Reading extends BodyBuffer {
  /** Resolves when earlier bodies needed the memory. */
  readonly crowdedOut: Promise<'no-room'>;
  /** Gave everything back, because there was no room. */
  readonly isRefused: boolean;
  /** Counts bytes outside the buffer. `false` if there is no room for them. */
  holds(bytes: number): boolean;
  close(): void;
}

/** The memory of all bodies whose senders are still unknown. */
export interface ReadingRoom {
  /** Bytes of memory that is really allocated. */
  readonly held: number;
  open(): Reading;
}

/** The first size of a buffer. A Content-Length may lie, so no memory is allocated for announced bytes. */
const LEAST_BYTES = 1_024;
/** Nearly all deliveries are smaller. Larger bodies cannot fill the eighth that is left to them. */
const SMALL_BYTES = 64 * 1024;
const LEFT_TO_SMALL = 1 / 8;

/** Chunks cost time, whatever their size: a megabyte of single bytes costs as much as hundreds of deliveries. */
const MANY_CHUNKS = 4_096;
const TINY_BYTES = 16;

const NOTHING = Buffer.alloc(0);

/** Copies each body into one buffer, because a tiny chunk of a server holds hundreds of bytes. Beyond the limit, the newest body gives way. */
export function readingRoom(maxBytes: number, maxHeldBytes: number): ReadingRoom {
  const maxLargeBytes = Math.max(maxBytes, maxHeldBytes * (1 - LEFT_TO_SMALL));
  /** Incomplete bodies, oldest first. */
  const arriving = new Set<OneReading>();
  let held = 0;
  let heldByLarge = 0;

  function fits(reading: OneReading, bytes: number): boolean {
    const large = heldByLarge + largePart(bytes) - largePart(reading.held);
    return held + bytes - reading.held <= maxHeldBytes && large <= maxLargeBytes;
  }

  /** Ends the newest bodies that began later, until there is room. */
  function crowdOutLater(reading: OneReading, bytes: number): void {
    if (!arriving.has(reading)) return;
    const all = [...arriving];
    for (const other of all.slice(all.indexOf(reading) + 1).toReversed()) {
      if (fits(reading, bytes)) return;
      const isFull = held + bytes - reading.held > maxHeldBytes;
      if ((isFull ? other.held : largePart(other.held)) > 0) other.crowdOut();
    }
  }

  const room: Room = {
    maxBytes,
    count(reading, bytes) {
      held += bytes - reading.held;
      heldByLarge += largePart(bytes) - largePart(reading.held);
      reading.held = bytes;
    },
    make(reading, bytes) {
      if (!fits(reading, bytes)) crowdOutLater(reading, bytes);
      if (!fits(reading, bytes)) return false;
      room.count(reading, bytes);
      return true;
    },
    leave: (reading) => void arriving.delete(reading),
  };

  return {
    get held() {
      return held;
    },
    open() {
      const reading = new OneReading(room);
      arriving.add(reading);
      return reading;
    },
  };
}

function largePart(bytes: number): number {
  return bytes > SMALL_BYTES ? bytes : 0;
}

interface Room {
  readonly maxBytes: number;
  count(reading: OneReading, bytes: number): void;
  make(reading: OneReading, bytes: number): boolean;
  leave(reading: OneReading): void;
}

class OneReading implements Reading {
  readonly crowdedOut: Promise<'no-room'>;
  isRefused = false;
  held = 0;
  readonly #room: Room;
  readonly #reject: (why: 'no-room') => void;
  #buffer = NOTHING;
  #size = 0;
  #chunks = 0;
  #expected = 0;
  #isOver = false;

  constructor(room: Room) {
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
