// @module-tag long
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { fixture } from '../../src/testing/fixtures.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { signBody } from '../../src/signing/signature.ts';
import { incoming, invalidIncoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { recordingServer, statuses, type RecordingServer } from './recording-server.ts';
import { runHookbox, SECRET, type Ran } from './run-hookbox.ts';
import { running } from './serving.ts';

async function folderWith(
  events: readonly IncomingEvent[],
  more: (inbox: Inbox) => Promise<unknown> = async () => {},
): Promise<string> {
  const folder = scratchFolder();
  await using inbox = sqliteInbox(join(folder, 'hookbox.db'));
  for (const event of events) await inbox.accept(event, later());
  await more(inbox);
  return folder;
}

function replay(cwd: string, server: RecordingServer, ...args: readonly string[]): Promise<Ran> {
  return runHookbox(['replay', '--to', server.url, ...args], { cwd });
}

function bodies({ requests }: RecordingServer): readonly string[] {
  return requests.map(({ body }) => body.toString());
}

function lines({ stdout }: Ran): readonly string[] {
  return stdout.trimEnd().split('\n');
}

it('sends stored events by their ids: the exact bytes, freshly signed', async () => {
  const body = '{"id":"evt_1", "total": 6.50 }\n';
  const cwd = await folderWith([incoming({ id: 'evt_1', body }), incoming({ id: 'evt_2' }), incoming({ id: 'evt_3' })]);
  const server = await recordingServer();
  const ran = await replay(cwd, server, 'evt_1', 'evt_3');
  expect(ran).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^200  stored     order\.created           evt_1  \d+\.\d ms\n200 .* evt_3 /),
    stderr: expect.stringMatching(/^2 sent: 2 ok, 0 failed, \d+ per second\n$/),
  });
  expect(bodies(server)).toEqual([body, '{}']);
  expect(server.requests[0]?.headers['x-signature']).toBe(signBody(body, SECRET));
});

it('sends what is stored and says which id is not', async () => {
  const cwd = await folderWith(severalIncoming(2));
  const server = await recordingServer();
  const some = await replay(cwd, server, 'evt_0', 'evt_no', 'evt_1');
  expect(some.code).toBe(3);
  expect(some.stderr).toContain('evt_no is neither a file nor an event of the endpoint default in hookbox.db.');
  expect(bodies(server)).toEqual(['{"n":0}', '{"n":1}']);
  const none = await replay(cwd, server, 'evt_no');
  expect(none).toMatchObject({ code: 4, stdout: '' });
});

it('chooses stored events by type, state, time and endpoint', async () => {
  const at = Date.parse('2026-03-01T12:00:00Z');
  const ready = { type: 'order.ready', entity: null };
  const cwd = await folderWith(
    [
      incoming({ id: 'evt_old', receivedAt: at }),
      incoming({ id: 'evt_new', receivedAt: at + 60_000 }),
      incoming({ id: 'evt_ready', receivedAt: at + 120_000, ...ready }),
      invalidIncoming({ id: 'evt_dead', receivedAt: at + 180_000 }),
      incoming({ id: 'evt_now', receivedAt: Date.now(), entity: null }),
      incoming({ id: 'evt_other', endpoint: 'other', receivedAt: Date.now() }),
    ],
    async (inbox) => {
      const claim = {
        endpoints: '*',
        now: Date.now(),
        leaseMs: 60_000,
        types: ['order.ready'],
        ordered: true,
      } as const;
      const claimed = await inbox.claim(claim, 1);
      for (const { lease } of claimed) await inbox.settle(lease, { outcome: 'processed' }, Date.now());
    },
  );
  const server = await recordingServer();
  const chosen = async (...filter: readonly string[]): Promise<readonly string[]> => {
    const ran = await replay(cwd, server, ...filter, '--json');
    expect(ran.code).toBe(0);
    return lines(ran).map((line) => (JSON.parse(line) as { id: string }).id);
  };
  expect(await chosen('--all')).toEqual(['evt_old', 'evt_new', 'evt_ready', 'evt_dead', 'evt_now']);
  expect(await chosen('--type', 'order.ready', '--type', 'cart.abandoned')).toEqual(['evt_ready']);
  expect(await chosen('--state', 'dead', '--state', 'processed')).toEqual(['evt_ready', 'evt_dead']);
  expect(await chosen('--since', '2h')).toEqual(['evt_now']);
  expect(await chosen('--since', '2026-03-01T12:01', '--until', '2026-03-01T13:03:00+01:00')).toEqual([
    'evt_new',
    'evt_ready',
  ]);
  expect(await chosen('--until', '2026-03-02', '--state', 'pending')).toEqual(['evt_old', 'evt_new']);
  expect(await chosen('--all', '--endpoint', 'other')).toEqual(['evt_other']);

  const nothing = await replay(cwd, server, '--type', 'order.craeted');
  expect(nothing).toMatchObject({
    code: 4,
    stdout: '',
    stderr:
      'hookbox.db has no matching event of the endpoint default.\n' +
      '"order.craeted" is not a known type. Did you mean order.created?\n',
  });
  const listed = await replay(cwd, server, '--type', 'order.craeted', '--dry-run');
  expect(listed.stderr).toMatch(/^0 would be sent\n.* Did you mean order\.created\?\n$/);
  expect((await replay(cwd, server, '--db', '.', '--all')).stderr).toContain('error: . is a folder.');
});

it('prints a JSON document for each delivery', async () => {
  const cwd = await folderWith([incoming({ id: 'evt_1' })]);
  const ran = await replay(cwd, await recordingServer(statuses(500)), '--all', '--json');
  expect(ran.code).toBe(1);
  expect(JSON.parse(ran.stdout)).toEqual({
    id: 'evt_1',
    type: 'order.created',
    endpoint: 'default',
    seq: 1,
    state: 'pending',
    verified: true,
    receivedAt: '2026-01-01T00:00:01.000Z',
    ok: false,
    status: 500,
    ms: expect.any(Number),
    duplicate: null,
    code: null,
    problem: 'Internal Server Error',
  });
});

it('sends the *.json files of a folder in the order of their names, and files as they are', async () => {
  const cwd = scratchFolder();
  mkdirSync(join(cwd, 'captured', 'more.json'), { recursive: true });
  copyFileSync(new URL('../../fixtures/order.ready.json', import.meta.url), join(cwd, 'captured', 'b.json'));
  copyFileSync(new URL('../../fixtures/order.created.json', import.meta.url), join(cwd, 'captured', 'a.json'));
  writeFileSync(join(cwd, 'captured', 'notes.txt'), 'x');
  writeFileSync(join(cwd, 'alone'), 'no JSON at all\n');
  const server = await recordingServer();
  const ran = await replay(cwd, server, 'captured', 'alone');
  expect(ran.code).toBe(0);
  expect(bodies(server)).toEqual([
    fixture('order.created').toString(),
    fixture('order.ready').toString(),
    'no JSON at all\n',
  ]);
  expect(lines(ran)[2]).toMatch(/^200  stored     - +alone  /);
  expect(existsSync(join(cwd, 'hookbox.db'))).toBe(false);

  mkdirSync(join(cwd, 'empty'));
  expect(await replay(cwd, server, 'empty')).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('empty has no *.json files.'),
  });
});

it('counts what was pruned as failed, and says so', async () => {
  const cwd = await folderWith([incoming({ id: 'evt_1' })], async (inbox) => {
    const claimed = await inbox.claim(
      { endpoints: '*', now: Date.now(), leaseMs: 60_000, types: '*', ordered: true },
      1,
    );
    for (const { lease } of claimed) await inbox.settle(lease, { outcome: 'processed' }, Date.now());
    expect(await inbox.prune('*', Date.now() + 1, 10)).toBe(1);
    await inbox.accept(incoming({ id: 'evt_2' }), later());
  });
  const server = await recordingServer();
  const ran = await replay(cwd, server, '--all');
  expect(ran.code).toBe(3);
  expect(lines(ran)[0]).toContain('---  pruned: the body was removed  order.created           evt_1');
  expect(server.requests).toHaveLength(1);
  expect(await replay(cwd, server, 'evt_1')).toMatchObject({ code: 1 });
});

it('on a dry run lists what would be sent, and sends nothing', async () => {
  const cwd = await folderWith(severalIncoming(2));
  const server = await recordingServer();
  const ran = await runHookbox(['replay', '--all', '--dry-run', '--to', server.url], {
    cwd,
    env: { SIGNING_SECRET: '' },
  });
  expect(ran).toEqual({
    code: 0,
    stdout: 'order.created           evt_0  7 bytes\norder.created           evt_1  7 bytes\n',
    stderr: '2 would be sent\n',
  });
  expect(server.requests).toHaveLength(0);
});

it('with --quiet prints only what was not accepted', async () => {
  const cwd = await folderWith(severalIncoming(3));
  const ran = await replay(cwd, await recordingServer(statuses(200, 500, 200)), '--all', '--quiet');
  expect(ran.code).toBe(3);
  expect(lines(ran)).toEqual([expect.stringMatching(/^500  Internal Server Error  order\.created +evt_1 /)]);
});

it('sends no more in a second than it may, and so many at a time as it may', async () => {
  const cwd = await folderWith(severalIncoming(6));
  const paced = await recordingServer();
  expect((await replay(cwd, paced, '--all', '--rate', '20', '--concurrency', '6')).code).toBe(0);
  const times = paced.requests.map(({ at }) => at);
  // Five intervals of 50 ms, less what the first one took to connect.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(150);

  const slow = await recordingServer((response) => setTimeout(() => response.end(), 100));
  expect((await replay(cwd, slow, '--all', '--concurrency', '3')).code).toBe(0);
  expect(slow.mostAtOnce()).toBe(3);
});

it('ends although what it sends is stored in the file that it reads', async () => {
  const cwd = await folderWith(severalIncoming(120));
  await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
  const server = await recordingServer(async (response, index) => {
    await inbox.accept(incoming({ id: `evt_more_${index}` }), later());
    response.end();
  });
  expect(await replay(cwd, server, '--all', '--quiet')).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('120 sent: 120 ok'),
  });
});

it('remarks that a signature makes authentic what was not', async () => {
  const cwd = await folderWith(severalIncoming(2, { verified: false }));
  const server = await recordingServer();
  const ran = await replay(cwd, server, '--all');
  expect(ran.stderr.match(/note: evt_\d was received without verification/g)).toHaveLength(1);
  expect((await replay(cwd, server, '--all', '--unsigned')).stderr).not.toContain('note:');
  expect(server.requests.at(-1)?.headers).not.toHaveProperty('x-signature');
});

it('on Ctrl-C finishes what is under way, and says where it stopped', async () => {
  const receivedAt = Date.parse('2026-03-01T12:00:00Z');
  const cwd = await folderWith(severalIncoming(5, { receivedAt }));
  let answer = (): void => {};
  const server = await recordingServer((response) => (answer = () => response.end('{"duplicate":true}')));
  const child = running(['replay', '--all', '--to', server.url], { cwd });
  await expect.poll(() => server.requests.length, { timeout: 20_000 }).toBe(1);
  const ended = child.stop('SIGINT');
  await child.note('Stopping when');
  answer();
  const ran = await ended;
  expect(ran.code).toBe(130);
  expect(ran.stdout).toMatch(/^200 {2}duplicate {2}order\.created +evt_0/);
  expect(ran.stderr.split('\n').slice(1)).toEqual([
    expect.stringContaining('1 sent: 1 ok (1 duplicate), 0 failed'),
    'note: the receiver already had 1 of these events, so no handler ran for it. To run handlers again, use hookbox events rerun.',
    'Stopped before evt_1. To continue, add --after 1',
  ]);
  expect(server.requests).toHaveLength(1);

  const rest = await recordingServer();
  expect(await replay(cwd, rest, '--all', '--after', '1')).toMatchObject({ code: 0 });
  expect(bodies(rest)).toEqual([1, 2, 3, 4].map((n) => `{"n":${n}}`));
});

it('does not wait for its turn when it is interrupted', async () => {
  const cwd = await folderWith(severalIncoming(3));
  const server = await recordingServer();
  const child = running(['replay', '--all', '--rate', '0.01', '--to', server.url], { cwd });
  await child.line('evt_0');
  const ran = await child.stop('SIGTERM');
  expect(ran).toMatchObject({ code: 130, stderr: expect.stringContaining('Stopped before evt_1') });
});

it('stops when the receiver goes away, and says where to go on', async () => {
  const cwd = await folderWith(severalIncoming(60));
  const server = await recordingServer((response, index) => {
    response.setHeader('Connection', 'close').end();
    if (index === 19) void server.close();
  });
  const ran = await replay(cwd, server, '--all', '--concurrency', '2');
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain(`The server at ${new URL(server.url).origin} is no longer listening.`);
  expect(lines(ran).length).toBeLessThan(40);
  const after = Number(/--after (\d+)$/m.exec(ran.stderr)?.[1]);
  const rest = await recordingServer();
  expect((await replay(cwd, rest, '--all', '--after', String(after))).code).toBe(0);
  expect(new Set([...bodies(server), ...bodies(rest)]).size).toBe(60);
  expect(after).toBeGreaterThanOrEqual(18);
});

it('goes on in the middle of what is named', async () => {
  const cwd = await folderWith(severalIncoming(3));
  const server = await recordingServer();
  const child = running(['replay', 'evt_0', 'evt_no', 'evt_1', 'evt_2', '--rate', '0.01', '--to', server.url], {
    cwd,
  });
  await child.line('evt_0');
  expect((await child.stop('SIGINT')).stderr).toMatch(/^Stopped before evt_1\. To continue, add --skip 2$/m);
  const ran = await replay(cwd, server, 'evt_0', 'evt_no', 'evt_1', 'evt_2', '--skip', '2');
  expect(ran.code).toBe(0);
  expect(bodies(server)).toEqual(['{"n":0}', '{"n":1}', '{"n":2}']);
});

it('says that nothing runs again where the events are known', async () => {
  const cwd = await folderWith(severalIncoming(2));
  const server = await recordingServer((response) => response.end('{"received":true,"duplicate":true}'));
  const ran = await replay(cwd, server, '--all');
  expect(ran.code).toBe(0);
  expect(ran.stderr).toMatch(/^2 sent: 2 ok \(2 duplicates\), 0 failed, /);
  expect(ran.stderr).toContain('note: the receiver already had 2 of these events, so no handler ran for them.');
});

it('takes an id that is too long for a file name', async () => {
  const id = `evt_${'x'.repeat(300)}`;
  const cwd = await folderWith([incoming({ id })]);
  const server = await recordingServer();
  expect((await replay(cwd, server, id)).code).toBe(0);
  expect(server.requests).toHaveLength(1);
});

it('prints no escape sequence of a file name', async () => {
  const cwd = scratchFolder();
  writeFileSync(join(cwd, 'a\u001b[31m.json'), 'no JSON');
  const ran = await replay(cwd, await recordingServer(), '.');
  expect(ran.stdout).toContain('a\\u{1b}[31m.json');
  expect(ran.stdout).not.toContain('\u001b');
});

it('makes no file where there is none, and no tables in what is no inbox', async () => {
  const cwd = scratchFolder();
  const missing = await runHookbox(['replay', '--all', '--db', 'none.db'], { cwd });
  expect(missing).toMatchObject({ code: 4, stdout: '' });
  expect(missing.stderr).toBe('error: The file none.db does not exist. Pass the path of the inbox with --db.\n');
  expect(existsSync(join(cwd, 'none.db'))).toBe(false);

  new Database(join(cwd, 'shop.db')).exec('CREATE TABLE orders (id TEXT)').close();
  const before = readFileSync(join(cwd, 'shop.db'));
  const foreign = await runHookbox(['replay', '--all', '--db', 'shop.db'], { cwd });
  expect(foreign).toMatchObject({ code: 4, stdout: '' });
  expect(foreign.stderr).toContain('shop.db contains no hookbox inbox.');
  expect(readFileSync(join(cwd, 'shop.db')).equals(before)).toBe(true);

  writeFileSync(join(cwd, 'text.db'), 'x'.repeat(5_000));
  const text = await runHookbox(['replay', '--all', '--db', 'text.db'], { cwd });
  expect(text).toMatchObject({ code: 1, stdout: '' });
  expect(text.stderr).toContain('is not a SQLite database');
});
