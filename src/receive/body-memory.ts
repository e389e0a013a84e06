import type { BodyBuffer } from './delivery.ts';

/** What stops a body that is being read; `no-room` where the receiver holds as much of all bodies as it may. */
type Stop = NonNullable<ReturnType<BodyBuffer['add']>>;

/** What is held of one body, until its delivery is verified. */
export interface Reading extends BodyBuffer {
  /** resolves when the room was needed for bodies that began before */
  readonly crowdedOut: Promise<'no-room'>;
  /** it holds nothing any more, because there was no room */
  readonly isRefused: boolean;
  /** Counts bytes that were put together elsewhere; `false` where there is no room for them. */
  holds(bytes: number): boolean;
  /** Gives everything back. */
  close(): void;
}

/** What a receiver holds of all bodies whose senders it does not know yet. */
export interface ReadingRoom {
  /** in bytes, of memory that is really taken */
  readonly held: number;
  open(): Reading;
}

/** What a body begins with. A Content-Length may lie, so no memory is taken for what has not come. */
const LEAST_BYTES = 1_024;
/** Nearly all deliveries are smaller than this; an eighth of the room is left to them, which larger bodies cannot fill. */
const SMALL_BYTES = 64 * 1024;
const LEFT_TO_SMALL = 1 / 8;

/**
 * A server spends its time on each chunk and not on each byte: a megabyte of single bytes keeps it busy for as long as
 * hundreds of deliveries do. So many chunks a body may come in, whatever their size; beyond them they must not be tiny.
 */
const MANY_CHUNKS = 4_096;
const TINY_BYTES = 16;

const NOTHING = Buffer.alloc(0);

/**
 * Bounds what is held of bodies that are being read. Each is copied into one buffer of its own, since a chunk as servers
 * hand it over takes hundreds of bytes, however few are in it. Beyond the limit the newest gives way: those that began
 * before go on.
 *
 * @param maxBytes - of one body
 * @param maxHeldBytes - of all of them; no less than `maxBytes`
 */
export function readingRoom(maxBytes: number, maxHeldBytes: number): ReadingRoom {
  const maxLargeBytes = Math.max(maxBytes, maxHeldBytes * (1 - LEFT_TO_SMALL));
  /** those that are not complete, in the order in which they began */
  const arriving = new Set<OneReading>();
  let held = 0;
  let heldByLarge = 0;

  function fits(reading: OneReading, bytes: number): boolean {
    const large = heldByLarge + largePart(bytes) - largePart(reading.held);
    return held + bytes - reading.held <= maxHeldBytes && large <= maxLargeBytes;
  }

  /** Ends the newest of those that began after this one, until there is room for it. */
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

/** What a reading asks of the room it is in. */
interface Room {
  readonly maxBytes: number;
  /** Notes what a reading holds from now on. */
  count(reading: OneReading, bytes: number): void;
  /** Notes it, if need be at the cost of readings that began later; `false` where even that is not enough. */
  make(reading: OneReading, bytes: number): boolean;
  /** It is complete, or over: it is not crowded out any more. */
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
    // The body will be kept, and the unused rest of its buffer must not be kept with it.
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
    // No more than twice what has come, and no more than was announced unless more has come.
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
    // Of its own: a piece of Node's pool would keep the whole of it.
    const larger = Buffer.allocUnsafeSlow(bytes);
    larger.set(this.#buffer.subarray(0, this.#size));
    this.#buffer = larger;
  }
}
