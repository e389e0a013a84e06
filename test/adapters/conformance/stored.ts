import { expect } from 'vitest';
import type { Served } from '../http-adapter-case.ts';
import type { Tally } from '../receiver-setup.ts';
import type { SignedEvent } from '../../helpers/signed-event.ts';

/** As bodies come back from a receiver under test. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** This event, byte for byte, and no other. */
export async function expectStored(served: Served, { id, body }: SignedEvent): Promise<void> {
  const events = await served.events();
  expect(events).toMatchObject([{ id }]);
  expect(events[0]?.body === base64(body)).toBe(true); // not a difference of a megabyte
}

export async function expectNothingStored(served: Served): Promise<void> {
  expect(await served.events()).toEqual([]);
}

/** Waits until the adapter has handed over, or a handler has begun, so many times. */
export async function until(
  served: Served,
  expected: Partial<Pick<Tally, 'deliveries' | 'handlerRuns'>>,
): Promise<void> {
  await expect.poll(() => served.tally(), { interval: 5, timeout: 5_000 }).toMatchObject(expected);
}
