import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReadingRoom, type Reading } from '../../src/receive/body-memory.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

function fill(reading: Reading, bytes: number): ReturnType<Reading['add']> {
  for (let size = 0; size < bytes; size += KIB) {
    const full = reading.add(new Uint8Array(Math.min(KIB, bytes - size)));
    if (full !== null) return full;
  }
  return null;
}

describe('a body that is put together', () => {
  it('is what was added, whatever the chunks and the announced length', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 3 * KIB })),
        fc.constantFrom('right' as const, 0, 1, 1_000, 100_000, Number.NaN, -1),
        (chunks, announced) => {
          const room = new ReadingRoom(MIB, MIB);
          const reading = room.open();
          const all = Buffer.concat(chunks);
          reading.expect(announced === 'right' ? all.byteLength : announced);
          for (const chunk of chunks) {
            expect(reading.add(chunk)).toBeNull();
            chunk.fill(0xee); // a server may reuse its memory
          }
          const bytes = reading.bytes();
          expect(Buffer.from(bytes).equals(all)).toBe(true);
          // The rest of a larger buffer would be kept, too.
          expect(bytes.buffer.byteLength).toBe(all.byteLength);
          expect(room.held).toBe(all.byteLength);
        },
      ),
    );
  });

  it.each([16, 100, 5_000])('takes no more than twice what has come, or 1 KiB, in chunks of %i bytes', (size) => {
    const room = new ReadingRoom(MIB, MIB);
    const reading = room.open();
    reading.expect(MIB);
    const chunk = new Uint8Array(size);
    let wrong = 0;
    for (let come = size; come < MIB; come += size) {
      reading.add(chunk);
      if (room.held > Math.max(KIB, 2 * come) || room.held < come) wrong += 1;
    }
    expect(wrong).toBe(0);
  });

  it('is copied a few times over, not once for each chunk', () => {
    const room = new ReadingRoom(MIB, MIB);
    const reading = room.open();
    const sizes = new Set<number>();
    const chunk = new Uint8Array(16);
    for (let come = 0; come < MIB; come += 16) {
      reading.add(chunk);
      sizes.add(room.held);
    }
    expect(sizes.size).toBeLessThanOrEqual(11); // 1 KiB, doubled ten times
  });

  it('takes nothing for a length that was only announced', () => {
    const room = new ReadingRoom(MIB, MIB);
    expect(room.open().expect(MIB)).toBeNull();
    expect(room.held).toBe(0);
  });

  it('may come in 4,096 chunks of one byte, and no more of them: each keeps a server busy', () => {
    const reading = new ReadingRoom(MIB, MIB).open();
    const chunk = new Uint8Array(1);
    for (let n = 0; n < 4_096; n += 1) expect(reading.add(chunk)).toBeNull();
    expect(reading.add(chunk)).toBe('tiny-chunks');

    const coarser = new ReadingRoom(MIB, MIB).open();
    const ended = new Set<unknown>();
    for (let come = 0; come < MIB; come += 16) ended.add(coarser.add(new Uint8Array(16)));
    expect([...ended]).toEqual([null]);
  });

  it('is too large with one byte more than the limit, announced or not', () => {
    const reading = new ReadingRoom(10, MIB).open();
    expect(reading.expect(11)).toBe('too-large');
    expect(reading.add(new Uint8Array(10))).toBeNull();
    expect(reading.add(new Uint8Array(1))).toBe('too-large');
  });
});

describe('the room for all bodies', () => {
  it('is never more than its limit, and what is held is given back, whatever is read', () => {
    const step = fc.record({
      who: fc.nat(9),
      bytes: fc.nat(300 * KIB),
      end: fc.constantFrom('no', 'no', 'bytes', 'close'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const room = new ReadingRoom(256 * KIB, MIB);
        const readings = Array.from({ length: 10 }, () => room.open());
        for (const { who, bytes, end } of steps) {
          const reading = readings[who];
          if (reading === undefined) continue;
          reading.add(new Uint8Array(bytes));
          if (end === 'bytes') reading.bytes();
          if (end === 'close') reading.close();
          expect(room.held).toBeLessThanOrEqual(MIB);
          expect(room.held).toBeGreaterThanOrEqual(0);
        }
        for (const reading of readings) reading.close();
        expect(room.held).toBe(0);
      }),
    );
  });

  it('is taken from the newest, and those that began before go on', async () => {
    const room = new ReadingRoom(MIB, 4 * MIB);
    const readings = Array.from({ length: 10 }, () => room.open());
    // Side by side, as they arrive.
    for (let come = 0; come < MIB; come += KIB) {
      for (const reading of readings) if (!reading.isRefused) reading.add(new Uint8Array(KIB));
    }
    // Three and a half MiB: an eighth is left to small ones.
    expect(readings.map(({ isRefused }) => isRefused)).toEqual([...Array(3).fill(false), ...Array(7).fill(true)]);
    expect(readings[0]?.bytes().byteLength).toBe(MIB);
    for (const refused of readings.slice(3)) await expect(refused.crowdedOut).resolves.toBe('no-room');
  });

  it('is refused to the newest itself, and nobody else gives way', () => {
    const room = new ReadingRoom(MIB, MIB);
    const [old, young] = [room.open(), room.open()];
    expect(fill(old, 900 * KIB)).toBeNull();
    expect(fill(young, 100 * KIB)).toBe('no-room');
    expect(young).toMatchObject({ isRefused: true });
    expect(old.isRefused).toBe(false);
    expect(fill(old, 100 * KIB)).toBeNull();
  });

  it('holds nothing of a body that was crowded out, and takes nothing more of it', () => {
    const room = new ReadingRoom(MIB, MIB);
    const [old, young] = [room.open(), room.open()];
    fill(young, 500 * KIB);
    fill(old, 900 * KIB);
    expect(young.isRefused).toBe(true);
    const held = room.held;
    expect(young.add(new Uint8Array(1))).toBe('no-room');
    expect(young.holds(1)).toBe(false);
    expect(room.held).toBe(held);
  });

  it('is left to small bodies in part, however many large ones there are, and a lone large one fits all the same', () => {
    const room = new ReadingRoom(MIB, 8 * MIB);
    const large = Array.from({ length: 20 }, () => room.open());
    for (const reading of large) fill(reading, MIB);
    expect(large.filter(({ isRefused }) => !isRefused)).toHaveLength(7);
    const small = Array.from({ length: 16 }, () => room.open());
    for (const reading of small) expect(fill(reading, 60 * KIB)).toBeNull();
    expect(large.filter(({ isRefused }) => !isRefused)).toHaveLength(7);

    expect(fill(new ReadingRoom(MIB, MIB).open(), MIB)).toBeNull();
  });

  it('is not taken from a small one to make a large one larger where only large ones are in the way', () => {
    const room = new ReadingRoom(MIB, 8 * MIB);
    const first = room.open();
    const others = Array.from({ length: 6 }, () => room.open());
    const small = room.open();
    fill(small, KIB);
    for (const reading of others) fill(reading, MIB);
    const last = room.open();
    fill(last, 900 * KIB);
    fill(first, MIB);
    expect(small.isRefused).toBe(false);
    expect(last.isRefused).toBe(true);
  });

  it('is not taken from one that is complete: its bytes are on their way', () => {
    const room = new ReadingRoom(MIB, MIB);
    const [old, complete] = [room.open(), room.open()];
    fill(complete, 900 * KIB);
    complete.bytes();
    expect(fill(old, 900 * KIB)).toBe('no-room');
    expect(complete.isRefused).toBe(false);
    complete.close();
    expect(fill(room.open(), 900 * KIB)).toBeNull();
  });

  it('counts bytes that were put together elsewhere', () => {
    const room = new ReadingRoom(MIB, MIB);
    const kept = room.open();
    expect(kept.holds(MIB)).toBe(true);
    expect(room.held).toBe(MIB);
    expect(room.open().holds(1)).toBe(false);
    kept.close();
    expect(room.held).toBe(0);
  });
});
