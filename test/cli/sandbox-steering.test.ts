// @module-tag long
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { OPERATION_NAMES, PERMISSIONS } from '../../src/sandbox/service-operations.ts';
import { seal } from '../../src/cli/sandbox/control-token.ts';
import { signBody } from '../../src/signing/signature.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { freePort } from '../helpers/free-port.ts';
import { recordingServer, statuses } from './recording-server.ts';
import { runHookbox, runProcess, SECRET } from './run-hookbox.ts';
import { ORDER, sandboxing, type Sandboxing } from './sandboxing.ts';

const FOLDER = `hookbox-${process.getuid?.() ?? ''}`;

describe('a sandbox that runs', () => {
  it('has its clock moved, and a dead letter tried again by hand', async () => {
    const receiver = await recordingServer(statuses(...Array.from({ length: 7 }, () => 500), 503, 200));
    const sandbox = await sandboxing(['--clock', 'frozen', '--to', receiver.url]);
    await sandbox.call('POST', '/order', ORDER);
    expect((await sandbox.steer(['advance', '2 d', '--json'])).stdout).toContain('"now": "2026-01-03T00:00:00.000Z"');
    expect(sandbox.tries().map(({ state }) => state)).toEqual([...Array.from({ length: 6 }, () => 'waiting'), 'dead']);
    const dead = await sandbox.steer(['list', 'dead-letters', '--json']);
    const { id } = JSON.parse(dead.stdout) as { id: number };

    expect(await sandbox.steer(['retry', String(id)])).toMatchObject({ code: 1, stdout: `${id} dead: answered 503\n` });
    expect(await sandbox.steer(['retry', String(id), '999'])).toMatchObject({
      code: 3,
      stdout: `${id} delivered\n999 unknown: the delivery does not exist\n`,
    });
    expect(receiver.requests).toHaveLength(9);
    expect(await sandbox.steer(['retry', String(id)])).toMatchObject({
      code: 1,
      stdout: `${id} delivered: only failed deliveries can be retried\n`,
    });
    expect(await sandbox.steer(['list', 'dead-letters'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No objects yet.\n',
    });
  });

  it('on a real clock retries at once, and waits for the answer', async () => {
    const receiver = await recordingServer(statuses(500, 500, 200));
    const sandbox = await sandboxing(['--to', receiver.url]);
    await sandbox.call('POST', '/order', ORDER);
    await sandbox.line('"number":2');
    const [{ delivery } = { delivery: 0 }] = sandbox.tries();
    expect(await sandbox.steer(['retry', String(delivery)])).toMatchObject({
      code: 0,
      stdout: `${delivery} delivered\n`,
    });
  });

  it('has something go wrong, as often as it is told', async () => {
    const sandbox = await sandboxing();
    const set = await sandbox.steer(['fault', 'after,operation=createOrder,times=2', '--json']);
    expect(JSON.parse(set.stdout)).toMatchObject({
      kind: 'after',
      operation: 'createOrder',
      status: 504,
      timesLeft: 2,
    });
    expect(await sandbox.call('POST', '/order', ORDER)).toBe('504 undefined');
    expect((await sandbox.steer(['fault'])).stdout).toMatch(/after +createOrder +504 +- +- +1\n$/);
    expect(await sandbox.steer(['fault', '--clear'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'No objects yet.\n',
    });
    expect(await sandbox.call<object>('POST', '/order', ORDER)).toHaveProperty('id');
    expect((await sandbox.steer(['fault', 'delivery:cut,times=2'])).stdout).toMatch(/delivery:cut +2\n$/);
    expect((await sandbox.steer(['list', 'faults', '--json'])).stdout).toContain('"timesLeft":2');
    expect(await sandbox.steer(['fault', '--clear'])).toMatchObject({ code: 0, stderr: 'No objects yet.\n' });
    expect(await sandbox.steer(['fault', 'delivery:cut,operation=createOrder'])).toMatchObject({ code: 2 });
    expect((await sandbox.steer(['list', 'orders', '--json'])).stdout.trim().split('\n')).toHaveLength(2);
  });

  it('has orders moved, keys made and endpoints added, changed and removed', async () => {
    const receiver = await recordingServer();
    const sandbox = await sandboxing();
    const { id } = await sandbox.call<{ id: string }>('POST', '/order', ORDER);
    expect(await sandbox.steer(['move', id, 'cancelled'])).toMatchObject({ code: 0, stdout: `${id} cancelled\n` });
    expect(await sandbox.steer(['move', id, 'ready'])).toMatchObject({
      code: 1,
      stderr: 'error: An order that is cancelled cannot become ready.\n',
    });
    expect(await sandbox.steer(['move', 'ord_none', 'ready'])).toMatchObject({ code: 4 });

    const { stdout: key } = await sandbox.steer(['key', '--permission', 'carts:read']);
    const order = await fetch(`${sandbox.started.base}/order`, {
      method: 'POST',
      headers: { Authorization: key.trim() },
    });
    expect(order.status).toBe(403);
    expect(await sandbox.steer(['key', '--permission', 'everything'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`permissions must be a list of '${PERMISSIONS.slice(0, -1).join("', '")}' or '`),
    });
    expect(await sandbox.steer(['fault', 'before,operation=order'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`operation must be '${OPERATION_NAMES.slice(0, -1).join("', '")}' or '`),
    });

    const listed = async () =>
      JSON.parse((await sandbox.steer(['list', 'webhooks', '--json'])).stdout || 'null') as object;
    expect(await sandbox.steer(['webhook', receiver.url, '--unsigned'])).toMatchObject({ code: 0, stdout: '' });
    expect(await listed()).toMatchObject({ url: receiver.url, isSigned: false });
    // The environment of the tests has a secret.
    expect(await sandbox.steer(['webhook', receiver.url])).toMatchObject({ code: 0, stdout: '' });
    expect(await listed()).toMatchObject({ url: receiver.url, isSigned: true });
    expect(await sandbox.steer(['webhook', receiver.url, '--remove'])).toMatchObject({ code: 0 });
    expect(await listed()).toBeNull();
    expect(await sandbox.steer(['webhook', receiver.url, '--remove'])).toMatchObject({ code: 4 });
  });

  it('sends an event of a type of your own, and says what does not fit its schema', async () => {
    const receiver = await recordingServer();
    const sandbox = await sandboxing(['--clock', 'frozen', '--to', receiver.url]);
    const cwd = scratchFolder();
    const validate =
      "(data) => (Number.isInteger(data.points) ? { value: data } : { issues: [{ message: 'no', path: ['points'] }] })";
    const schema = `{ '~standard': { version: 1, vendor: 'hand', validate: ${validate} } }`;
    writeFileSync(
      join(cwd, 'shop.mjs'),
      `setInterval(() => {}, 1_000); export const events = { 'loyalty.earned': ${schema} };`,
    );
    const sending = (...args: readonly string[]) =>
      runProcess(['sandbox', 'send', '--at', sandbox.started.base, '--events', 'shop.mjs', ...args], {
        cwd,
        env: { TMPDIR: sandbox.folder },
      });

    expect(await sending('loyalty.earned', '--override', 'data.points=5')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^evt_\w+ loyalty\.earned\n$/),
      stderr: expect.stringMatching(
        /^note: the clock of the sandbox is frozen\. To deliver the event: hookbox sandbox advance 0 --at \S+\n$/,
      ),
    });
    expect((await sending('loyalty.earned', '--override', 'data.points=many')).stderr).toContain(
      'note: the event does not fit your schema for loyalty.earned, so hookbox will store it as dead: data.points: does not fit',
    );
    expect(await sending('loyalty.erned')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean loyalty.earned?'),
    });
    await sandbox.steer(['advance', '0']);
    const sent = receiver.requests.map(({ body }) => JSON.parse(body.toString()) as object);
    expect(sent).toMatchObject([
      { type: 'loyalty.earned', created: '2026-01-01T00:00:00.000Z', data: { points: 5 } },
      { type: 'loyalty.earned', data: { points: 'many' } },
    ]);
    for (const { body, headers } of receiver.requests) expect(headers['x-signature']).toBe(signBody(body, SECRET));
    await sandbox.steer(['webhook', receiver.url, '--remove']);
    expect(await sandbox.steer(['send', '-', '--json'], { input: '{"type":"x","data":{}}' })).toMatchObject({
      stdout: expect.stringContaining('"deliveries": 0'),
      stderr: 'note: no endpoint is registered for events of this type, so the sandbox delivers nothing.\n',
    });
    expect(await sandbox.steer(['send', '-'], { input: '{"type":"x"}' })).toMatchObject({ code: 2 });
  });

  it('has an address removed as often as it was registered', async () => {
    const cwd = scratchFolder();
    const url = 'http://localhost:3000/webhooks';
    const made = createSandbox({ file: join(cwd, 'shop.db') });
    for (const one of [url, 'http://localhost:3001/', url]) made.webhooks.add({ url: one, secret: null, events: null });
    await made.close();
    const sandbox = await sandboxing(['--db', 'shop.db'], { cwd });
    expect(await sandbox.steer(['webhook', url, '--remove'])).toMatchObject({ code: 0 });
    const { stdout } = await sandbox.steer(['list', 'webhooks', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ url: 'http://localhost:3001/' });
  });
});

describe('who is not there or not allowed', () => {
  it('is told so in one line', async () => {
    const env = { TMPDIR: scratchFolder() };
    const port = await freePort();
    const at = `http://127.0.0.1:${port}`;
    expect(await runHookbox(['sandbox', 'advance', '1h', '--at', at], { env })).toMatchObject({
      code: 4,
      stderr: `error: You have no running sandbox at ${at}. Start one with hookbox sandbox, or pass the address of a running sandbox with --at.\n`,
    });
    // One that was killed has left what steers it.
    mkdirSync(join(env.TMPDIR, FOLDER), { mode: 0o700 });
    writeFileSync(join(env.TMPDIR, FOLDER, `sandbox-${port}`), 'stale');
    expect(await runHookbox(['sandbox', 'advance', '1h', '--at', at], { env })).toMatchObject({
      code: 1,
      stderr: `error: The sandbox at ${at} does not answer: the connection was refused. Check that it is running.\n`,
    });
    for (const wrong of ['https://127.0.0.1:4000', 'http://sandbox.example:4000', 'here']) {
      expect(await runHookbox(['sandbox', 'advance', '1h', '--at', wrong], { env })).toMatchObject({ code: 2 });
    }
    const sandbox = await sandboxing([], { env });
    expect(await sandbox.steer(['advance', 'a while'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a while'),
    });
    expect(await sandbox.steer(['retry', 'all'])).toMatchObject({ code: 2 });
    expect(await sandbox.steer(['list', 'secrets'])).toMatchObject({ code: 2 });
  });

  it('does not steer: a browser, another site, another name, a proxy, another user, a recorded request', async () => {
    const folder = scratchFolder();
    const sandbox = await sandboxing([], { env: { TMPDIR: folder } });
    await sandbox.note('the sandbox sends no webhooks');
    const { hostname, port, origin, host } = new URL(sandbox.started.base);
    const file = join(folder, FOLDER, `sandbox-${port}`);
    await expect.poll(() => readdirSync(join(folder, FOLDER))).toEqual([`sandbox-${port}`]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, FOLDER)).mode & 0o777).toBe(0o700);
    const [token = ''] = readFileSync(file, 'utf8').split('\n');

    const body = JSON.stringify({ act: 'list', what: 'keys' });
    async function send(
      unusual: Readonly<Record<string, string>> = {},
      sent = seal(token, body),
      method = 'POST',
    ): Promise<number> {
      const usual = { Host: host, Origin: origin, 'Content-Length': Buffer.byteLength(sent) };
      return new Promise((resolve, reject) => {
        const asked = request(
          { hostname, port, method, path: '/control', headers: { ...usual, ...unusual } },
          (answer) => {
            void text(answer).then(() => resolve(answer.statusCode ?? 0));
          },
        );
        asked.on('error', reject).end(sent);
      });
    }
    expect(await send()).toBe(200);
    const recorded = seal(token, body);
    expect(await send({}, recorded)).toBe(200);
    expect(await send({}, recorded)).toBe(401);
    const changed = Buffer.from(seal(token, body), 'base64url');
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    const strange = [changed.toString('base64url'), seal(`${token}x`, body), seal(token, body, 'an answer'), body, ''];
    for (const sealed of strange) expect(await send({ Authorization: `Bearer ${token}` }, sealed)).toBe(401);
    expect(await send({ Origin: 'http://shop.example' })).toBe(403);
    expect(await send({ Origin: 'null' })).toBe(403);
    expect(await send({ 'Sec-Fetch-Site': 'cross-site' })).toBe(403);
    expect(await send({ Host: `shop.example:${port}` })).toBe(403);
    expect(await send({ 'X-Forwarded-For': '192.0.2.1' })).toBe(403);
    expect(await send({}, seal(token, body), 'PUT')).toBe(405);
    expect(await send({}, `"${'x'.repeat(100_000)}"`)).toBe(413);
    for (const odd of ['', 'null', '[]', '{"act":"list"}', '{"act":"quit"}', '{"act":"list","what":"keys","more":1}']) {
      expect(await send({}, seal(token, odd)), odd).toBe(422);
    }
    const { stdout, stderr } = await sandbox.stop('SIGTERM');
    expect(stdout + stderr).not.toContain(token);
    expect(readdirSync(join(folder, FOLDER))).toEqual([]);
  });

  it.skipIf(process.getuid === undefined)('reads no token from a folder that others made', async () => {
    const folder = scratchFolder();
    mkdirSync(join(folder, FOLDER));
    chmodSync(join(folder, FOLDER), 0o777);
    const sandbox = await sandboxing([], { env: { TMPDIR: folder } });
    await sandbox.note(
      `Commands in other shells cannot control this sandbox: ${join(folder, FOLDER)} belongs to another user or is open to others.`,
    );
    expect(readdirSync(join(folder, FOLDER))).toEqual([]);
    expect(await sandbox.call('GET', '/merchant')).toHaveLength(3);
  });

  it.skipIf(process.getuid === undefined)(
    'tells nothing to a sandbox whose token others may have put there',
    async () => {
      const folder = scratchFolder();
      const posing = await recordingServer((response) => response.end('{"result":{"madeSecret":null}}'));
      const { port } = new URL(posing.url);
      mkdirSync(join(folder, FOLDER));
      writeFileSync(join(folder, FOLDER, `sandbox-${port}`), 'their own');
      const args = ['sandbox', 'webhook', 'http://localhost:3000/webhooks', '--at', `http://127.0.0.1:${port}`];
      const steering = (mode: number) => {
        chmodSync(join(folder, FOLDER), mode);
        return runHookbox(args, { env: { TMPDIR: folder } });
      };
      expect(await steering(0o777)).toMatchObject({
        code: 4,
        stderr: expect.stringContaining('no running sandbox at'),
      });
      expect(posing.requests).toHaveLength(0);
      expect(await steering(0o700)).toMatchObject({ code: 1, stderr: expect.stringContaining('is not the sandbox') });
      expect(posing.requests).toHaveLength(1);
    },
  );

  it('sends nothing readable to the program that took the port of a killed sandbox, also where that passes it on', async () => {
    const env = { TMPDIR: scratchFolder() };
    const killed = await sandboxing([], { env });
    const { port } = new URL(killed.started.base);
    const file = join(env.TMPDIR, FOLDER, `sandbox-${port}`);
    await expect.poll(() => existsSync(file)).toBe(true);
    const [token = ''] = readFileSync(file, 'utf8').split('\n');
    killed.child.kill('SIGKILL');
    await killed.ended();
    const answers = [
      '{"status":200,"result":{"madeSecret":null}}',
      seal('a guess', '{"status":200,"result":{"madeSecret":null}}'),
      '',
    ];
    const thief = await recordingServer((response) => response.end(answers.shift()), Number(port));
    while (answers.length > 0) {
      const args = ['sandbox', 'webhook', 'http://localhost:3000/webhooks', '--at', killed.started.base];
      expect(await runHookbox(args, { env })).toMatchObject({
        code: 1,
        stdout: '',
        stderr: `error: The program at ${killed.started.base} could not read the command, so it is not the sandbox that you started there. Restart the sandbox.\n`,
      });
    }
    expect(thief.requests).toHaveLength(3);
    for (const { body, headers } of thief.requests) {
      const seen = body.toString() + JSON.stringify(headers);
      for (const secret of [SECRET, token, 'localhost:3000']) expect(seen).not.toContain(secret);
    }
  });

  it('register no endpoint on another machine unless the sandbox was started with --allow-remote', async () => {
    const url = 'https://shop.example/webhooks';
    const local = await sandboxing();
    expect(await local.steer(['webhook', url])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('shop.example is another machine.'),
    });
    expect(await local.steer(['list', 'webhooks'])).toMatchObject({ stdout: '' });

    const remote = await sandboxing(['--allow-remote', '--clock', 'frozen']);
    expect(await remote.steer(['webhook', url])).toMatchObject({ code: 0 });
  });

  it('leaves nothing behind when it is killed, once another has started; what lives, or may, keeps its own', async () => {
    const env = { TMPDIR: scratchFolder() };
    const kept = (): readonly string[] => readdirSync(join(env.TMPDIR, FOLDER)).toSorted();
    const nameOf = ({ started }: Sandboxing): string => `sandbox-${new URL(started.base).port}`;
    const killed = await sandboxing([], { env });
    const alive = await sandboxing([], { env });
    for (const sandbox of [killed, alive]) await expect.poll(kept).toContain(nameOf(sandbox));
    killed.child.kill('SIGKILL');
    await killed.ended();
    // Of a container that shares the folder, whose processes are not to be seen here, and a file without a process.
    const pid = killed.child.pid ?? 0;
    writeFileSync(join(env.TMPDIR, FOLDER, 'sandbox-1'), `token\n${pid}\nelsewhere`);
    writeFileSync(join(env.TMPDIR, FOLDER, 'sandbox-2'), 'token');

    const next = await sandboxing([], { env });
    await expect.poll(kept).toEqual([nameOf(alive), nameOf(next), 'sandbox-1', 'sandbox-2'].toSorted());
    expect(await alive.steer(['advance', '0'])).toMatchObject({ code: 0 });
  });

  it('is told while it waits for whom, once for each try', async () => {
    const slow = await recordingServer((response) => setTimeout(() => response.end(), 3_500));
    const sandbox = await sandboxing(['--clock', 'frozen', '--to', slow.url]);
    await sandbox.call('POST', '/order', ORDER);
    const { code, stderr } = await sandbox.steer(['advance', '0']);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^Waiting for http:\S+ to answer order\.created evt_\w+ \(attempt 1\)\. An attempt fails after 10 s without an answer\.\n$/,
    );
    expect(stderr).toContain(slow.url);
  });

  it('hears of a sandbox that ends meanwhile', async () => {
    const receiver = await recordingServer(() => {}); // never answers
    const sandbox = await sandboxing(['--clock', 'frozen', '--to', receiver.url]);
    await sandbox.call('POST', '/order', ORDER);
    const moved = sandbox.steer(['advance', '1h']);
    await expect.poll(() => receiver.requests.length).toBe(1);
    sandbox.child.kill('SIGTERM');
    expect(await moved).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*\n$/) });
    expect(await sandbox.ended()).toMatchObject({ code: 0 });
  });
});
