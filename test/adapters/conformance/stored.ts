import { expect } from 'vitest';
import type { Served } from '../http-adapter-case.ts';
import type { Tally } from '../receiver-setup.ts';
import type { SignedEvent } from '../../helpers/signed-event.ts';

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

export async function expectStored(served: Served, { id, body }: SignedEvent): Promise<void> {
  const events = await served.events();
  expect(events).toMatchObject([{ id }]);
  expect(events[0]?.body === base64(body)).toBe(true); // without a diff of a megabyte
}

export async function expectNothingStored(served: Served): Promise<void> {
  expect(await served.events()).toEqual([]);
}

export async function until(
  served: Served,
  expected: Partial<Pick<Tally, 'deliveries' | 'handlerRuns'>>,
): Promise<void> {
  await expect.poll(() => served.tally(), { interval: 5, timeout: 5_000 }).toMatchObject(expected);
}
