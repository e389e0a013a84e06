import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { bodiesOf } from '../../src/cli/trigger-body.ts';
import { parseEvent } from '../../src/events/parse.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { signBody, verifySignature } from '../../src/signing/signature.ts';
import { nobodyThere } from './listening.ts';
import { scratchFile, scratchFolder } from '../helpers/scratch-folder.ts';
import { recordingServer, statuses, type Recorded } from './recording-server.ts';
import { runHookbox, SECRET, type RunOptions } from './run-hookbox.ts';
import { running, serving } from './serving.ts';

function only(requests: readonly Recorded[]): Recorded {
  expect(requests).toHaveLength(1);
  return requests[0] as Recorded;
}

function signatureOf({ headers }: Recorded): string {
  return String(headers['x-signature']);
}

function parsed({ body }: Recorded): { id: string; type: string; created: string; data: Record<string, unknown> } {
  return JSON.parse(body.toString());
}

it.each(eventTypes)('has a valid event for %s', async (type) => {
  const make = await bodiesOf(type, {});
  expect(parseEvent(make())).toMatchObject({ ok: true, known: true, event: { type } });
  expect(make().equals(make())).toBe(false);
  const text = make().toString();
  expect(text).not.toBe(JSON.stringify(JSON.parse(text))); // or receivers that write it again are not found out
});

it.each(['order.created', 'inventory.updated', 'cart.abandoned'])(
  'makes a valid %s under a new id, created now, and signs it',
  async (type) => {
    const server = await recordingServer();
    const startedAt = Date.now();
    const ran = await runHookbox(['trigger', type, '--to', server.url]);
    const request = only(server.requests);
    const { id, created, data } = parsed(request);
    expect(ran).toEqual({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^200  stored     ${type} +${id}  \\d+\\.\\d ms\n$`)),
      stderr: '',
    });
    expect(id).toMatch(/^evt_[0-9A-Za-z]{16}$/);
    expect(Date.parse(created)).toBeGreaterThanOrEqual(startedAt);
    expect(parseEvent(request.body)).toMatchObject({ ok: true, known: true, event: { type } });
    const { data: before } = JSON.parse(fixture(type).toString()) as { data: Record<string, unknown> };
    const entity = type.startsWith('inventory') ? 'product_id' : 'id';
    expect(data).toEqual({ ...before, [entity]: expect.stringMatching(/^(ord|cart|prod)_[0-9A-Za-z]{16}$/) });
    expect(verifySignature(request.body, signatureOf(request), SECRET)).toBe(true);
    expect(request.headers['content-type']).toBe('application/json');
  },
);

it.each(eventTypes)('gives each %s an order, cart or product of its own, unless told otherwise', async (type) => {
  const family = type.split('.')[0] ?? '';
  const path = family === 'inventory' ? 'product_id' : 'id';
  const prefix = { order: 'ord', cart: 'cart' }[family] ?? 'prod';
  const dataOf = (body: Buffer) => (JSON.parse(body.toString()) as { data: Record<string, unknown> }).data;
  const make = await bodiesOf(type, {});
  const [one, other] = [dataOf(make()), dataOf(make())];
  expect(one[path]).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{16}$`));
  expect(other[path]).not.toBe(one[path]);
  const fixed = dataOf(fixture(type));
  expect({ ...one, [path]: fixed[path] }).toEqual(fixed);
  const related = await bodiesOf(type, { override: [`data.${path}=mine`] });
  expect([dataOf(related())[path], dataOf(related())[path]]).toEqual(['mine', 'mine']);
});

it('is not held back by a failing handler of an earlier one', async () => {
  const cwd = scratchFolder();
  writeFileSync(
    join(cwd, 'it.mjs'),
    "export default { '*': (event) => { if (event.id === 'evt_1') throw new Error('no'); } };",
  );
  const serve = await serving(['it.mjs'], { cwd });
  const env = { HOOKBOX_URL: serve.url };
  await runHookbox(['trigger', 'order.ready', '--event-id', 'evt_1'], { env });
  await serve.line('handler failed');
  await runHookbox(['trigger', 'order.ready', '--event-id', 'evt_2'], { env });
  await serve.line('handler processed order.ready evt_2');
});

it('delivers to hookbox serve, and says what is a duplicate', async () => {
  const serve = await serving([], { cwd: scratchFolder() });
  const env = { HOOKBOX_URL: serve.url };
  const ran = await runHookbox(['trigger', 'order.ready', '--event-id', 'evt_same', '--count', '3'], { env });
  expect(ran.code).toBe(0);
  const words = ran.stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ +/).slice(0, 4).join(' '));
  expect(words).toEqual([
    '200 stored order.ready evt_same',
    '200 duplicate order.ready evt_same',
    '200 duplicate order.ready evt_same',
  ]);
  expect(ran.stderr).toMatch(/^3 sent: 3 ok \(2 duplicates\), 0 failed, \d+ per second\n$/);
  await serve.stop('SIGTERM');
  expect(serve.stdout.join('')).not.toContain('a different body');
});

it('sends a file and standard input byte for byte', async () => {
  const server = await recordingServer();
  const body = Buffer.concat([fixture('edge/rejected-invalid-utf8'), Buffer.from('\n')]);
  const file = scratchFile('body.json');
  writeFileSync(file, body);
  await runHookbox(['trigger', file, '--to', server.url]);
  await runHookbox(['trigger', '-', '--to', server.url], { input: body });
  expect(server.requests.map((request) => request.body.equals(body))).toEqual([true, true]);
  expect(server.requests.map(signatureOf)).toEqual([signBody(body, SECRET), signBody(body, SECRET)]);
});

it('sets and removes values by path, and writes numbers as they were', async () => {
  const server = await recordingServer();
  const overrides = [
    'data.items.0.price=7.10',
    'data.note=a=b',
    'data.total=null',
    'extra.list.0.x={"y":[1]}',
    '__proto__.polluted=true',
  ].flatMap((each) => ['--override', each]);
  const removals = ['--remove', 'data.items.1', '--remove', 'data.currency'];
  const ran = await runHookbox(['trigger', 'order.created', '--to', server.url, ...overrides, ...removals]);
  expect(ran.code).toBe(0);
  const body = only(server.requests).body.toString();
  expect(body).toContain('"price":7.10}]');
  expect(body).toContain('"extra":{"list":[{"x":{"y":[1]}}]}');
  expect(body).toContain('"__proto__":{"polluted":true}');
  expect(parsed(only(server.requests)).data).toMatchObject({ note: 'a=b', total: null });
  expect(body).not.toContain('currency');
  const untouched = await runHookbox(['trigger', 'order.created', '--dry-run']);
  expect(untouched.stdout).toContain('"price":6.50');
});

it('says of what hookbox stores as invalid what does not fit, and of nothing else', async () => {
  const server = await recordingServer((response, index) => response.end(`{"duplicate":${index === 1}}`));
  const args = ['trigger', 'order.created', '--to', server.url, '--event-id', 'evt_1', '--count', '2'];
  const ran = await runHookbox([...args, '--override', 'data.total="a secret total"']);
  const [stored, duplicate] = ran.stdout.trimEnd().split('\n');
  expect(stored).toMatch(/^200 {2}stored .* ms {2}invalid, stored as dead: data\.total: .*expected number/);
  expect(duplicate).toMatch(/ ms$/);
  expect(ran.stdout + ran.stderr).not.toContain('a secret total');

  const json = ['--json', '--remove', 'created'];
  const { stdout } = await runHookbox(['trigger', 'order.ready', '--to', server.url, ...json]);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, invalid: { path: 'created', message: expect.any(String) } });
  const body = fixture('edge/invalid-field-type');
  expect((await runHookbox(['trigger', '-', '--to', server.url], { input: body })).stdout).toContain('data.total');

  for (const fine of [
    ['--override', 'data.total=1'],
    ['--override', 'type=order.new'],
    ['--remove', 'data.items'],
  ]) {
    expect((await runHookbox(['trigger', 'order.ready', '--to', server.url, ...fine])).stdout).toMatch(/ ms\n$/);
  }
  const other = await recordingServer(statuses(204));
  const elsewhere = await runHookbox(['trigger', '-', '--to', other.url], { input: body });
  expect(elsewhere.stdout).toMatch(/^204 {2}accepted .* ms\n$/);
});

it('says so of what the schedule delivers', async () => {
  const server = await recordingServer(statuses(500, 200));
  const args = ['--schedule', 'service', '--time-scale', '1000000', '--override', 'data.total=much'];
  const { stdout } = await runHookbox(['trigger', 'order.ready', '--to', server.url, ...args]);
  const [failed, delivered] = stdout.trimEnd().split('\n');
  expect(failed).toMatch(/again now$/);
  expect(delivered).toMatch(/ ms {2}hookbox considers it invalid: data\.total: .*expected number/);
});

it.each([
  ['a field of data', ['total=12', 'total=13'], ['total'], 'data.total=…'],
  ['a misspelt data', ['dta.total=12'], ['dta.total'], 'data.dta.total=…'],
  ['nothing new', ['data.new=1', 'id=evt_1', 'created=2026-01-01'], [], ''],
])('says when an override has added a field beside data: %s', async (_, overrides, added, instead) => {
  const args = overrides.flatMap((each) => ['--override', each]);
  const ran = await runHookbox(['trigger', 'order.ready', '--dry-run', '--count', '3', ...args]);
  expect(ran.code).toBe(0);
  const lines = ran.stderr.split('\n').slice(0, -1);
  expect(lines).toHaveLength(added.length);
  for (const path of added) expect(lines[0]).toContain(`note: --override ${path}=… adds a field`);
  if (instead !== '') expect(lines[0]).toContain(instead);
  const file = await runHookbox(['trigger', '-', '--dry-run', ...args], { input: fixture('order.ready') });
  expect(file.stderr.split('\n')).toHaveLength(added.length + 1);
});

it('changes a file only where it is told to', async () => {
  const server = await recordingServer();
  const args = ['trigger', '-', '--to', server.url, '--event-id', 'evt_mine', '--override', 'data.total=1'];
  await runHookbox(args, { input: '{ "id": "evt_1", "data": { "total": 42.50, "tip": 1.50 } }' });
  expect(only(server.requests).body.toString()).toBe('{"id":"evt_mine","data":{"total":1,"tip":1.50}}');
});

it('delivers as many as asked for, so many at a time', async () => {
  const server = await recordingServer((response) => setTimeout(() => response.end('{"duplicate":false}'), 30));
  const many = ['--count', '20', '--concurrency', '4', '--json'];
  const ran = await runHookbox(['trigger', 'inventory.updated', '--to', server.url, ...many]);
  expect(ran.code).toBe(0);
  const ids = server.requests.map((request) => parsed(request).id);
  expect(new Set(ids).size).toBe(20);
  expect(server.mostAtOnce()).toBe(4);
  const lines = ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ id }) => String(id)).sort()).toEqual(ids.toSorted());
  expect(lines[0]).toEqual({
    id: expect.any(String),
    type: 'inventory.updated',
    ok: true,
    status: 200,
    ms: expect.any(Number),
    duplicate: false,
    code: null,
    problem: null,
  });
});

it('tampers with the body or the signature after signing, or sends none', async () => {
  const serve = await serving([], { cwd: scratchFolder() });
  const options = { env: { HOOKBOX_URL: serve.url } };
  for (const how of [['--tamper', 'body'], ['--tamper', 'signature'], ['--unsigned']]) {
    const ran = await runHookbox(['trigger', 'order.ready', ...how], options);
    expect(ran).toMatchObject({ code: 1, stdout: expect.stringContaining('401  INVALID_SIGNATURE') });
  }
  await serve.line('signature-missing');
  expect(serve.stdout.filter((line) => line.includes('signature-mismatch'))).toHaveLength(2);
  const expected = await runHookbox(['trigger', 'order.ready', '--tamper', 'body', '--expect-status', '401'], options);
  expect(expected.code).toBe(0);
  const args = ['trigger', 'order.ready', '--expect-status', '401'];
  const other = await runHookbox(args, options);
  expect(other.code).toBe(1);
  expect(other.stdout).toMatch(/^200 .* ms  expected 401\n$/);
  const json = await runHookbox([...args, '--json'], options);
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, status: 200, expected: 401 });
});

it('sends headers beside those of the service, or in their place', async () => {
  const server = await recordingServer(statuses(500, 200));
  const file = scratchFile('headers');
  writeFileSync(file, 'Authorization: Basic cGFzc3dvcmQ=\r\n\nX-Empty:\n');
  const headers = ['--header', 'X-Tunnel:  yes: no ', '--header', `@${file}`, '--header', 'content-type: text/plain'];
  const args = ['trigger', 'order.ready', '--to', server.url, ...headers];
  const schedule = ['--schedule', 'service', '--time-scale', '1000000'];
  const ran = await runHookbox([...args, ...schedule]);
  expect(ran.code).toBe(0);
  await runHookbox(args);
  expect(server.requests).toHaveLength(3);
  for (const request of server.requests) {
    expect(request.headers).toMatchObject({
      'x-tunnel': 'yes: no',
      authorization: 'Basic cGFzc3dvcmQ=',
      'x-empty': '',
      'content-type': 'text/plain',
      'x-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  }
  expect(ran.stdout + ran.stderr).not.toContain('cGFzc3dvcmQ=');

  const curl = await runHookbox(['trigger', '-', '--print-curl', '--unsigned', ...headers], { input: '{}' });
  expect(curl.stdout).not.toContain('cGFzc3dvcmQ=');
  expect((await sentByCurl(curl.stdout)).args.join(' ')).toBe(
    `-sS http://localhost:3000/webhooks -H X-Tunnel:  yes: no  -H @${file} -H content-type: text/plain --data-binary @-`,
  );
});

it('lists the types in its help', async () => {
  const { stdout } = await runHookbox(['trigger', '--help']);
  for (const type of eventTypes) expect(stdout).toMatch(new RegExp(`^  ${type} +[a-z]`, 'm'));
});

it('needs no secret to send unsigned', async () => {
  const server = await recordingServer();
  const env = { SIGNING_SECRET: '' };
  expect((await runHookbox(['trigger', 'order.ready', '--to', server.url, '--unsigned'], { env })).code).toBe(0);
  expect(only(server.requests).headers).not.toHaveProperty('x-signature');
});

it('ends with 3 when only some answers are right, and with 1 when none is', async () => {
  const some = await recordingServer(statuses(200, 500, 200));
  const args = ['trigger', 'order.ready', '--count', '3', '--to'];
  const ran = await runHookbox([...args, some.url]);
  expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('3 sent: 2 ok, 1 failed') });
  expect(ran.stdout).toContain('500  Internal Server Error');
  const none = await recordingServer(statuses(503));
  expect((await runHookbox([...args, none.url])).code).toBe(1);
});

it('does not follow redirects', async () => {
  const server = await recordingServer((response) => response.writeHead(307, { Location: '/else\u{9b}where' }).end());
  const ran = await runHookbox(['trigger', 'order.ready', '--to', server.url]);
  expect(ran.code).toBe(1);
  expect(ran.stdout).toContain('307  hookbox does not follow redirects (to /else\\u{9b}where)');
  expect(server.requests).toHaveLength(1);
});

it('retries as the service does, and tells of each try', async () => {
  const server = await recordingServer(statuses(500, 503, 200));
  const schedule = ['--schedule', 'service', '--time-scale', '1000000'];
  const ran = await runHookbox(['trigger', 'order.ready', '--to', server.url, ...schedule]);
  expect(ran).toMatchObject({ code: 0, stderr: '1 delivered, 0 dead-lettered\n' });
  const lines = ran.stdout.trim().split('\n');
  expect(lines[0]).toMatch(/^500  answered 500  order\.ready  evt_\w+  try 1  \d+\.\d ms  again now$/);
  expect(lines[1]).toMatch(/try 2 .* again in 5 min \(0\.0 s here\)$/);
  expect(lines[2]).toMatch(/^200  delivered .* try 3  \d+\.\d ms$/);
  expect(new Set(server.requests.map(signatureOf)).size).toBe(1);

  const down = await recordingServer(statuses(500));
  const dead = await runHookbox(['trigger', 'order.ready', '--to', down.url, ...schedule, '--json']);
  expect(dead).toMatchObject({ code: 1, stderr: '0 delivered, 1 dead-lettered after 7 tries\n' });
  const attempts = dead.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { number: number });
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(dead.stdout.match(/"ms":\d+(\.\d)?,/g)).toHaveLength(7);
});

it.each([
  ['text with what shells and printf would change', `{"id":"evt_1","q":"it's %s \\\\ $HOME \`id\` !!"}\n\n`],
  ['bytes that are no text', Buffer.from([0x40, 0xff, 0, 0x25, 0x64, 0x5c, 0x78, 0x27, 9, 0x0d, 0x80])],
  ['bytes that begin like an option', Buffer.from([0x2d, 0x76, 0xff])],
  ['more than one argument can hold', `{"id":"evt_1","long":"${'x'.repeat(300_000)}"}`],
  ['nothing', ''],
])('prints a curl command that sends %s', async (_, body) => {
  const ran = await runHookbox(['trigger', '-', '--print-curl'], { input: body });
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).not.toContain(SECRET);
  const sent = await sentByCurl(ran.stdout);
  expect(sent.body.equals(Buffer.from(body))).toBe(true);
  expect(sent.args.join(' ')).toBe(
    '-sS http://localhost:3000/webhooks -H Content-Type: application/json ' +
      `-H X-Signature: ${signBody(body, SECRET)} --data-binary @-`,
  );
});

it('on a dry run prints the bytes alone, and sends nothing', async () => {
  const server = await recordingServer();
  const input = '{"id": "evt_1"}\n\n';
  const options: RunOptions = { input, env: { SIGNING_SECRET: '' } };
  const ran = await runHookbox(['trigger', '-', '--to', server.url, '--dry-run'], options);
  expect(ran).toEqual({ code: 0, stdout: input, stderr: '' });
  expect(server.requests).toHaveLength(0);
});

it('says how to start a receiver where nobody listens', async () => {
  const gone = await nobodyThere();
  const ran = await runHookbox(['trigger', 'order.ready', '--count', '50', '--concurrency', '5', '--to', gone]);
  expect(ran).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: No server is listening at ${new URL(gone).origin}. Start a receiver with hookbox serve, or pass a different URL with --to.\n`,
  });
});

it('on Ctrl-C waits for the answer under way, sends no more, and ends with 130', async () => {
  let answer = (): void => {};
  const server = await recordingServer((response) => (answer = () => response.end('{"duplicate":false}')));
  const trigger = running(['trigger', 'order.ready', '--count', '5', '--to', server.url]);
  await expect.poll(() => server.requests.length, { timeout: 20_000 }).toBe(1);
  const ended = trigger.stop('SIGINT');
  await trigger.note('Stopping when');
  answer();
  expect(await ended).toMatchObject({
    code: 130,
    stdout: expect.stringContaining('200  stored'),
    stderr: expect.stringContaining('1 sent: 1 ok'),
  });
  expect(server.requests).toHaveLength(1);
});

it('does not wait for the next retry when it is interrupted', async () => {
  const server = await recordingServer(statuses(500));
  const trigger = running(['trigger', 'order.ready', '--schedule', 'service', '--to', server.url]);
  await trigger.line('again in 5 min');
  expect(await trigger.stop('SIGINT')).toMatchObject({
    code: 130,
    stderr:
      'Stopping when all deliveries in progress have been answered; to stop immediately, press Ctrl-C again.\n' +
      '0 delivered, 0 dead-lettered, 1 interrupted',
  });
  expect(server.requests).toHaveLength(2);
});

/** Runs a command line in a shell whose curl only notes what it is given. */
async function sentByCurl(command: string): Promise<{ readonly args: readonly string[]; readonly body: Buffer }> {
  const folder = scratchFolder();
  writeFileSync(
    join(folder, 'curl'),
    `#!/bin/sh\nfor each in "$@"; do printf '%s\\n' "$each"; done > "$OUT/args"\ncat > "$OUT/body"\n`,
  );
  chmodSync(join(folder, 'curl'), 0o755);
  writeFileSync(join(folder, 'command.sh'), command);
  const env = { PATH: `${folder}:${process.env['PATH']}`, OUT: folder };
  await promisify(execFile)('sh', [join(folder, 'command.sh')], { env });
  const args = readFileSync(join(folder, 'args'), 'utf8').trimEnd().split('\n');
  return { args, body: readFileSync(join(folder, 'body')) };
}
