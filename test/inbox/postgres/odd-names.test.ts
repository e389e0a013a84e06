/** Types and entities are a sender's text. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';

const { empty } = inboxesOnPostgres();

/** Random words, which compression does not shorten. */
function wordy(length: number): string {
  let text = '';
  for (let block = 0; text.length < length; block += 1) {
    const bytes = createHash('sha512').update(String(block)).digest();
    for (let at = 0; at < bytes.length; at += 2)
      text += String.fromCharCode(0x4e00 + (bytes.readUInt16LE(at) % 20_000));
  }
  return text.slice(0, length);
}

const LONG = wordy(8_000);
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

it.each([
  ['long', LONG],
  ['like the beginning of a hash, with U+0000', '\u0001h\0'],
  ['like the beginning of a hash', '\u0001h'],
  ['like the beginning of a hash, and long', `\u0001h${LONG}`],
  ['like a hash and more', `\u0001h${hashOf(LONG)}\0`],
  ['like a hash with U+0000 in it', `\u0001h${hashOf(LONG).slice(1)}\0`],
  ['like a hash with more than letters', `\u0001h${hashOf(LONG).slice(1)}\ud83d`],
  ['as the hash of another', `\u0001h${hashOf(LONG)}`],
])('a name that is %s is stored, claimed and in order', async (_, name) => {
  await using inbox = empty();
  const event = (id: string, ms: number) =>
    incoming({ id, type: name, entity: name, created: { ms, ns: 0 }, receivedAt: 1 });
  expect(await inbox.accept(event('second', 2_000), later())).toMatchObject({ result: 'stored' });
  expect(await inbox.accept(event('first', 1_000), later())).toMatchObject({ result: 'stored' });
  const request = { ...EVERYTHING, types: [name], now: 3_000, leaseMs: 60_000, ordered: true };
  const ran: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const claimed = await inbox.claim(request, 5);
    expect(claimed).toHaveLength(1);
    for (const { id, lease } of claimed) {
      ran.push(id);
      expect(await inbox.settle(lease, { outcome: 'processed' }, 3_000)).toBe(true);
    }
  }
  expect(ran).toEqual(['first', 'second']);
  expect((await inbox.get({ endpoint: 'default', id: 'first' }))?.type).toBe(name.toWellFormed());
});

it('a name that only looks like a hash is another one than what it would be the hash of', async () => {
  await using inbox = empty();
  const names = [`\u0001h${LONG}`, LONG, '\u0001h', '\u0001h\0'];
  for (const [at, entity] of names.entries()) {
    await inbox.accept(incoming({ id: `evt_${at}`, entity, receivedAt: 1 }), later());
  }
  const request = { ...EVERYTHING, now: 3_000, leaseMs: 60_000, ordered: true };
  expect(await inbox.claim(request, 10)).toHaveLength(names.length);
});

it('the longest endpoint that a receiver may have holds the longest id and type', async () => {
  await using inbox = empty();
  const event = incoming({
    endpoint: LONG.slice(0, 255),
    id: LONG.slice(0, 255),
    type: LONG,
    entity: LONG,
    receivedAt: 1,
  });
  expect(await inbox.accept(event, later())).toMatchObject({ result: 'stored' });
  expect(await inbox.accept(event, later())).toMatchObject({ result: 'duplicate' });
  const request = { ...EVERYTHING, now: 3_000, leaseMs: 60_000, ordered: true };
  const claimed = await inbox.claim(request, 1);
  expect(claimed).toMatchObject([{ id: event.id, endpoint: event.endpoint }]);
  for (const { lease } of claimed) await inbox.settle(lease, { outcome: 'processed' }, 3_000);
  expect(await inbox.get(event)).toMatchObject({ state: 'processed' });
});
