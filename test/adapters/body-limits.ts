import { setTimeout as delay } from 'node:timers/promises';
import type { BodyLimits } from '../../src/index.ts';
import { ReadingRoom } from '../../src/receive/body-memory.ts';

export function bodyLimits(maxBytes: number, withinMs: number): BodyLimits {
  const late = delay(withinMs, 'too-slow' as const, { ref: false });
  return { maxBytes, late, buffer: new ReadingRoom(maxBytes, maxBytes).open() };
}
