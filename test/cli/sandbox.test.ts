// @module-tag long
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, vi } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { verifySignature } from '../../src/signing/signature.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { listening, nobodyThere } from './listening.ts';
import { recordingServer, type Recorded } from './recording-server.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';
import { running } from './serving.ts';
import { ORDER, sandboxing } from './sandboxing.ts';

/** No secret in the environment. */
const NO_SECRET = { SIGNING_SECRET: '' };

const CURL =
  /curl -X POST "(?<base>https?:\/\/[^"/]+)(?<path>[^"]+)" -H "Authorization: (?<key>[^"]+)" -H '[^']+' -d '(?<body>[^']+)'/;

function isSignedWith(secret: string, { headers, body }: Recorded): boolean {
  return verifySignature(body, String(headers['x-signature']), secret);
}

describe('hookbox sandbox', () => {
  it('says where it is and what opens it, answers, and prints a line for each delivery', async () => {
    const receiver = await recordingServer();
    const args = ['sandbox', '--port', '0', '--to', receiver.url];
    const sandbox = running(args, { env: { ...NO_SECRET, TMPDIR: scratchFolder() } });
    const said = await sandbox.note('Webhooks go to');
    const [, base = ''] = /at (\S+), with its dashboard/.exec(sandbox.stderr[0] ?? '') ?? [];
    const [, apiKey = ''] = /^API key: (\S+)/m.exec(sandbox.stderr.join('\n')) ?? [];
    const [, secret = ''] = /signed with the secret (\S+)$/.exec(said) ?? [];
    expect(sandbox.stderr).toEqual([
      `The sandbox runs at ${base}, with its dashboard at ${base}/dashboard (open to every user of this machine)`,
      `Operations, each with a curl command: ${base}/interface`,
      'The state is in memory and is lost when the sandbox stops. To keep it, use --db FILE.',
      `API key: ${apiKey} (send it in the Authorization header, without a word such as Bearer)`,
      expect.stringMatching(/^No orders yet\. To place one: curl -X POST /),
      `Webhooks go to ${receiver.url}, signed with the secret ${secret}`,
    ]);
    expect(base).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(secret).toMatch(/^whsec_\S{32}$/);

    const headers = { Authorization: apiKey, 'Content-Type': 'application/json' };
    const made = await fetch(`${base}/order`, { method: 'POST', headers, body: JSON.stringify(ORDER) });
    expect(made.status).toBe(201);
    await sandbox.line('order.created');
    expect(receiver.requests).toHaveLength(1);
    const [delivery] = receiver.requests;
    expect(delivery && isSignedWith(secret, delivery)).toBe(true);
    expect((await fetch(`${base}/dashboard`)).status).toBe(200);
    expect((await fetch(`${base}/order`, { method: 'POST' })).status).toBe(401);

    const { code, stdout } = await sandbox.stop('SIGTERM');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\S+Z {2}200 delivered {2}order\.created {11}evt_\w{16} {2}\(try 1\)$/);
  });

  it('prints a line that places an order, which then moves', async () => {
    const receiver = await recordingServer();
    const env = { ...NO_SECRET, TMPDIR: scratchFolder() };
    const sandbox = running(['sandbox', '--port', '0', '--to', receiver.url], { env });
    const line = await sandbox.note('To place one: curl');
    const { base = '', path = '', key = '', body = '' } = CURL.exec(line)?.groups ?? {};
    const headers = { Authorization: key, 'Content-Type': 'application/json' };
    const placed = await fetch(base + path, { method: 'POST', headers, body });
    const { data } = (await placed.json()) as { readonly data: { readonly id: string } };
    await sandbox.line('order.created');
    const moved = await runHookbox(['sandbox', 'move', data.id, 'confirmed', '--at', base], { env });
    expect(moved).toMatchObject({ code: 0 });
    await sandbox.line('order.confirmed');
    await sandbox.stop('SIGTERM');
  });

  it('with --json begins with one line that programs read, and tells a secret there alone', async () => {
    const receiver = await recordingServer();
    const sandbox = await sandboxing(['--to', receiver.url], { env: NO_SECRET });
    const { started } = sandbox;
    expect(started).toMatchObject({
      endpoint: { url: receiver.url, isSigned: true },
      page: `${started.base}/dashboard`,
    });
    await sandbox.call('POST', '/order', ORDER);
    await sandbox.line('"kind":"delivery"');
    expect(sandbox.tries()).toMatchObject([
      { type: 'order.created', number: 1, status: 200, why: null, state: 'delivered' },
    ]);
    const { code, stderr } = await sandbox.stop('SIGINT');
    expect(code).toBe(130);
    expect(stderr).not.toContain(started.secret);
    expect(stderr).not.toContain(started.apiKey);
  });

  it('signs with the secret of the environment, and never prints that', async () => {
    const receiver = await recordingServer();
    const sandbox = await sandboxing(['--to', receiver.url]);
    await sandbox.call('POST', '/order', ORDER);
    await sandbox.line('"kind":"delivery"');
    expect(receiver.requests.map((one) => isSignedWith(SECRET, one))).toEqual([true]);
    const { stdout, stderr } = await sandbox.stop('SIGTERM');
    expect(stdout + stderr).not.toContain(SECRET);
    expect(sandbox.started.secret).toBeNull();
    expect(stderr).toContain(`Webhooks go to ${receiver.url}, signed with your secret.`);
  });

  it('without --to has no endpoint, and says how to add one', async () => {
    const receiver = await recordingServer();
    const sandbox = await sandboxing([], { env: NO_SECRET });
    await sandbox.note(
      `the sandbox sends no webhooks. To add one: hookbox sandbox webhook http://localhost:3000/webhooks --at ${sandbox.started.base}`,
    );
    await sandbox.call('POST', '/order', ORDER); // of which nobody hears
    const added = await sandbox.steer(['webhook', receiver.url], { env: NO_SECRET });
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^whsec_\S{32}\n$/) });
    await sandbox.call('POST', '/order', ORDER);
    await sandbox.line('"kind":"delivery"');
    expect(receiver.requests.map((one) => isSignedWith(added.stdout.trim(), one))).toEqual([true]);
  });

  it('says that nobody listens yet, and tries again what fails', async () => {
    const url = await nobodyThere();
    const sandbox = await sandboxing(['--to', url]);
    await sandbox.note(`no server is listening at ${new URL(url).origin} (the connection was refused)`);
    await sandbox.call('POST', '/order', ORDER);
    await sandbox.line('"why":"the connection was refused"');
    expect(sandbox.tries()[0]).toMatchObject({ status: null, state: 'waiting' });
    const { stderr } = await sandbox.stop('SIGTERM');
    expect(stderr).toContain('1 delivery is pending and will be lost. To keep deliveries, use --db FILE.');
  });
});

it('says of https to a server without it what is wrong, in words', async () => {
  const plain = await listening((_, response) => response.end());
  const to = plain.url.replace('http:', 'https:');
  const sandbox = await sandboxing(['--clock', 'frozen', '--to', to]);
  const words = 'the server uses http, not https';
  expect(await sandbox.note('no server is listening at')).toContain(`(${words})`);
  await sandbox.call('POST', '/order', ORDER);
  await sandbox.steer(['advance', '0']);
  expect(sandbox.tries()).toMatchObject([{ why: words }, { why: words }]);
  const sent = await runHookbox(['trigger', 'order.ready', '--to', to]);
  expect(sent).toMatchObject({ code: 1, stdout: expect.stringContaining(words) });
  expect(sent.stdout + sent.stderr).not.toMatch(/SSL/);
  await plain.close();
});

describe('a sandbox in a file', () => {
  it('goes on where it was: keys, endpoints, orders and what waits', async () => {
    const cwd = scratchFolder();
    const url = await nobodyThere();
    const first = await sandboxing(['--db', 'shop.db', '--to', url], { cwd, env: NO_SECRET });
    const { id } = await first.call<{ id: string }>('POST', '/order', ORDER);
    await first.line('"kind":"delivery"');
    expect((await first.stop('SIGTERM')).stderr).toContain('To continue, start the sandbox with --db shop.db again.');

    const second = await sandboxing(['--db', 'shop.db', '--to', url, '--seed', '5'], { cwd, env: NO_SECRET });
    await second.note('The sandbox continues from shop.db: 1 API key, 1 endpoint, 1 order, 1 waiting delivery.');
    await second.note('note: --seed has no effect, because shop.db keeps its first seed.');
    await second.note(
      `${url}, signed with a secret that the sandbox showed earlier. To set a new one: hookbox sandbox webhook ${url} --at ${second.started.base}`,
    );
    expect(second.started).toMatchObject({ apiKey: first.started.apiKey, secret: null });
    expect(
      await second.call<{ id: string }>('POST', `/order/${id}/submit`, { payment_method_id: 'pm_ok' }),
    ).toMatchObject({ id });

    const renewed = await second.steer(['webhook', url], { env: NO_SECRET });
    const { stdout, stderr } = await second.stop('SIGTERM');
    expect(stdout + stderr).not.toContain(first.started.secret);
    expect(renewed.stdout).toMatch(/^whsec_/);
    expect(renewed.stdout.trim()).not.toBe(first.started.secret);
  });

  it('sends nothing before it listens and has said what it begins with', async () => {
    const cwd = scratchFolder();
    const made = createSandbox({
      file: join(cwd, 'shop.db'),
      startAt: new Date(),
      webhooks: [{ to: async () => new Response(), as: 'fetch' }], // which is not there when the file is opened again
    });
    const [{ locationId, productId } = { locationId: '', productId: '' }] = made.stock.list();
    made.stock.set(locationId, productId, 0);
    await made.close();

    const taken = await listening(() => {});
    const failed = await runHookbox(['sandbox', '--port', new URL(taken.url).port, '--db', 'shop.db'], { cwd });
    expect(failed).toMatchObject({ code: 1, stdout: '' });
    await taken.close();
    const sandbox = await sandboxing(['--db', 'shop.db', '--clock', 'real'], { cwd });
    await expect.poll(() => sandbox.tries()).toHaveLength(6);
    expect(sandbox.stdout[0]).toContain('"kind":"started"');
    // Each for the first time after that, and then at once again.
    const tried = sandbox.tries().map(({ delivery, number }) => `${delivery}/${number}`);
    expect(tried).toEqual(['1/1', '2/1', '3/1', '1/2', '2/2', '3/2']);
  });

  it('does not tell a key that was deleted', async () => {
    const cwd = scratchFolder();
    await using made = createSandbox({ file: join(cwd, 'shop.db') });
    for (const { id } of made.keys.list()) made.keys.delete(id);
    await made.close();
    const sandbox = await sandboxing(['--db', 'shop.db'], { cwd });
    expect(sandbox.started.apiKey).toBeNull();
    const { stdout } = await sandbox.steer(['key', '--permission', 'merchants:read']);
    const answer = await fetch(`${sandbox.started.base}/merchant`, { headers: { Authorization: stdout.trim() } });
    expect(answer.status).toBe(200);
    const human = running(['sandbox', '--port', '0', '--db', 'shop.db'], { cwd });
    expect((await human.ended()).stderr).toContain(
      'shop.db cannot be opened for a sandbox: it is open in another process, such as a second sandbox or a receiver.',
    );
    await sandbox.stop('SIGTERM');
    const again = running(['sandbox', '--port', '0', '--db', 'shop.db'], { cwd, env: { TMPDIR: scratchFolder() } });
    await again.note(/no longer works\. To create another: hookbox sandbox key --at \S+/);
  });

  it('that is stopped half way through a delivery sends it again', async () => {
    const cwd = scratchFolder();
    let isGood = false;
    const receiver = await recordingServer((response) => isGood && response.end());
    const args = ['--db', 'shop.db', '--to', receiver.url];
    const first = await sandboxing(args, { cwd });
    await first.call('POST', '/order', ORDER);
    await vi.waitFor(() => expect(receiver.requests).toHaveLength(1), { timeout: 20_000 });
    const ended = await first.stop('SIGINT');
    expect(ended).toMatchObject({ code: 130, stderr: expect.stringContaining('1 delivery is pending.') });
    expect(first.tries()).toEqual([]);

    isGood = true;
    const second = await sandboxing(args, { cwd });
    await second.line('"state":"delivered"');
    const [cut, whole] = receiver.requests;
    expect(receiver.requests).toHaveLength(2);
    expect(whole?.body).toEqual(cut?.body);
    await second.stop('SIGTERM');
  });
});

describe('what a sandbox is told', () => {
  it('is its clock, its seed, its plan, what it assumes and what goes wrong', async () => {
    const receiver = await recordingServer();
    const args = ['--clock', 'frozen', '--seed', '7', '--plan', 'perMonth=4', '--assume', 'confirmedAfterMs=5s'];
    const faults = ['--fault', 'before,operation=createOrder,status=502', '--fault', 'delivery:tampered-signature'];
    const begin = () => sandboxing([...args, ...faults, '--to', receiver.url], { env: NO_SECRET });
    const sandbox = await begin();
    expect(await sandbox.call('POST', '/order', ORDER)).toBe('502 undefined');
    const { id } = await sandbox.call<{ id: string }>('POST', '/order', ORDER);
    await sandbox.call('POST', `/order/${id}/submit`, { payment_method_id: 'pm_ok' });
    expect(await sandbox.steer(['advance', '5s'])).toMatchObject({ code: 0, stdout: '2026-01-01T00:00:05.000Z\n' });
    expect(sandbox.tries().map(({ type, number }) => [type, number])).toEqual([
      ['order.created', 1],
      ['inventory.updated', 1],
      ['order.confirmed', 1],
    ]);
    const { secret } = sandbox.started;
    expect(receiver.requests.map((one) => isSignedWith(secret ?? '', one))).toEqual([false, true, true]);
    expect(await sandbox.call('GET', '/merchant')).toHaveLength(3);
    expect(await sandbox.call('GET', '/merchant')).toBe('429 RATE_LIMIT_EXCEEDED');

    const again = await begin();
    expect(again.started).toMatchObject({ apiKey: sandbox.started.apiKey, secret });
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

  it('is to answer other machines, which still do not steer it', async () => {
    if (address === undefined)
      throw new Error('This machine has no network address. Give it one: ip address add 192.0.2.1/32 dev lo.');
    const near = await sandboxing();
    const far = await sandboxing(['--host', '0.0.0.0']);
    const { port } = new URL(far.started.base);
    const headers = { Authorization: far.started.apiKey ?? '' };
    expect((await fetch(`http://${address}:${port}/merchant`, { headers })).status).toBe(200);
    expect((await fetch(`http://${address}:${port}/control`, { method: 'POST' })).status).toBe(403);
    await expect(fetch(`http://${address}:${new URL(near.started.base).port}/merchant`)).rejects.toThrow(
      'fetch failed',
    );
    expect((await fetch(`http://${address}:${port}/interface`)).status).toBe(200);
    expect((await fetch(`http://${address}:${port}/dashboard`)).status).toBe(403);
    expect((await fetch(`${far.started.base}/dashboard`)).status).toBe(200);
    expect(await far.steer(['advance', '0'])).toMatchObject({ code: 0 });
    expect(await runHookbox(['sandbox', '--port', '0', '--host', address ?? ''])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`If the sandbox listened only on ${address}, this machine could not reach it.`),
    });
  });

  it('is refused in one line where it cannot work, and leaves nothing behind', async () => {
    const cwd = scratchFolder();
    const taken = await listening(() => {});
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'text'), 'not a database, and long enough to be looked at '.repeat(40));
    await createSandbox({ file: join(cwd, 'newer.db') }).close();
    const newer = new Database(join(cwd, 'newer.db'));
    newer.pragma('user_version = 99');
    newer.close();
    const before = readFileSync(join(cwd, 'newer.db'));
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [
        ['--port', new URL(taken.url).port, '--db', 'taken.db', '--to', taken.url],
        1,
        'is in use. Choose a different --port.',
      ],
      [['--db', 'newer.db'], 2, 'was created by a different version of hookbox. Pass another path.'],
      [
        ['--db', 'postgres://shop:a-password@db/shop'],
        2,
        "The path of the sandbox's file is invalid. The value is a URL, not the path of a file.",
      ],
      [['--db', 'text'], 2, 'it is not a SQLite database'],
      [['--db', 'folder'], 2, 'folder is a folder. Pass the path of a file.'],
      [['--db', 'none/shop.db'], 2, 'none/shop.db cannot be opened for a sandbox'],
      [['--to', 'ftp://localhost:3000/webhooks'], 2, 'is not an http or https URL.'],
      [
        ['--to', 'https://shop.example/webhooks'],
        2,
        'shop.example is another machine. Add --allow-remote to allow it.',
      ],
      [
        ['--to', 'http://shop.example/', '--allow-remote'],
        2,
        "shop.example is another machine, so the webhook's URL must use https.",
      ],
      [['--plan', 'Gold'], 2, "plan must be 'Free', 'Developer', 'Business' or 'Enterprise'"],
      [['--plan', 'perMinute=5'], 2, 'plan: unknown option `perMinute`. Allowed: '],
      [['--assume', 'taxes=1'], 2, 'assumptions: unknown option `taxes`. Allowed: confirmedAfterMs, readyAfterMs, '],
      [['--assume', 'readyAfterMs=soon'], 2, 'assumptions: readyAfterMs must be'],
      [['--assume', 'taxRate'], 2, 'must be name=value.'],
      [
        ['--fault', 'befor', '--db', 'unreported.db', '--to', taken.url],
        2,
        'fault: kind must be one of before, after, lost-answer, slow, decline, fail-order, delivery:late, ',
      ],
      [['--fault', 'delivery:slow'], 2, "kind must be 'late', 'burst', "],
      [['--fault', 'delivery:cut,times=0'], 2, 'takes only times=n, with n above 0.'],
      [['--secret-file', 'none'], 4, 'hookbox cannot read the secret'],
      [['--secret', 'x'], 2, "unknown option '--secret'"],
      [['advnce', '1h'], 2, 'too many arguments'],
    ];
    for (const [args, code, message] of cases) {
      const ran = await runHookbox(['sandbox', '--port', '0', ...args], { cwd, env: { TMPDIR: cwd } });
      expect(ran, args.join(' ')).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
      const lines = ran.stderr.trimEnd().split('\n');
      expect(
        lines.filter((line) => !line.startsWith('(')),
        ran.stderr,
      ).toHaveLength(1);
    }
    await taken.close();
    expect(readFileSync(join(cwd, 'newer.db'))).toEqual(before);
    expect(existsSync(join(cwd, 'newer.db-wal'))).toBe(false);
    // Nobody was told the secret of an endpoint, so there is none.
    for (const file of ['taken.db', 'unreported.db']) {
      await using unreported = createSandbox({ file: join(cwd, file) });
      expect(unreported.webhooks.list()).toEqual([]);
    }
  });
});

it('a client that sends its request in pieces and goes away does not hold up the end', async () => {
  const sandbox = await sandboxing();
  const { hostname, port } = new URL(sandbox.started.base);
  const headers = { Authorization: sandbox.started.apiKey ?? '', 'Content-Length': '5000' };
  const sent = request({ hostname, port, method: 'POST', path: '/order', headers });
  sent.on('error', () => {});
  sent.write('{"customer":');
  await sandbox.call('GET', '/merchant');
  expect(await sandbox.stop('SIGTERM')).toMatchObject({ code: 0 });
});
