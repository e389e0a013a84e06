import { expect, it } from 'vitest';
import { memoryInbox } from '../../../src/inbox/memory/memory-inbox.ts';
import type { IncomingEvent, StoredEvent } from '../../../src/inbox/event.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, invalidIncoming, later } from '../../helpers/incoming-event.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';

const { empty } = inboxesOnPostgres();

it('and stores the same', async () => {
  const one = { entity: 'order::1', receivedAt: START } as const;
  const bytes = (body: string) => ({ ...one, body });
  const first: IncomingEvent[] = [
    incoming({ id: 'evt_front', ...one }),
    invalidIncoming({ id: 'evt_mended', ...one }),
    invalidIncoming({ id: 'evt_still_invalid', ...one, verified: false }),
    incoming({ id: 'evt_trusted', ...one, verified: false }),
    incoming({ id: 'evt_invalid_now', ...one, verified: false }),
    incoming({ id: 'evt_moves', ...one, verified: false }),
  ];
  const again: IncomingEvent[] = [
    incoming({ id: 'evt_mended', ...bytes('mended'), trace: 'a trace' }),
    incoming({ id: 'evt_mended', ...bytes('another') }),
    invalidIncoming({ id: 'evt_still_invalid', ...bytes('still') }),
    incoming({ id: 'evt_trusted', ...one }),
    incoming({ id: 'evt_trusted', ...bytes('another') }),
    invalidIncoming({ id: 'evt_invalid_now', ...bytes('invalid') }),
    incoming({ id: 'evt_invalid_now', ...bytes('valid again') }),
    incoming({ id: 'evt_moves', ...bytes('moved'), entity: 'order::2' }),
    incoming({ id: 'evt_new', ...bytes('new') }),
    incoming({ id: 'evt_new', ...bytes('newer') }),
  ];
  const alone = memoryInbox();
  await using together = empty();
  await together.announce(EVERYTHING, START, null);
  await alone.announce(EVERYTHING, START, null);
  const expected = [];
  for (const event of [...first, ...again]) expected.push(await alone.accept(event, later()));
  const accepted = await Promise.all(first.map((event) => together.accept(event, later())));
  accepted.push(...(await Promise.all(again.map((event) => together.accept(event, later())))));
  expect(accepted).toEqual(expected);
  for (const key of [...first, ...again]) {
    expect(shown(await together.get(key))).toEqual(shown(await alone.get(key)));
  }
  // An event that moved to another order waits for no other event.
  const request = { ...EVERYTHING, now: START, leaseMs: 60_000, ordered: true };
  const ids = async (inbox: Pick<typeof alone, 'claim'>) =>
    (await inbox.claim(request, 10)).map(({ id }) => id).toSorted();
  expect(await ids(together)).toEqual(await ids(alone));
});

/** Both inboxes number the events themselves. */
function shown(event: StoredEvent | null) {
  if (event === null) return null;
  const { seq: _, body, conflict, ...rest } = event;
  const text = (bytes: Uint8Array | null | undefined) => bytes && Buffer.from(bytes).toString();
  return { ...rest, body: text(body), conflict: conflict && { ...conflict, body: text(conflict.body) } };
}
