// @module-tag dear
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../src/testing/fixtures.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { deliver } from '../../src/sender/deliver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { listening } from './listening.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';
import { serving } from './serving.ts';

const fromSource = process.env['HOOKBOX_FROM_SOURCE'] === '1';
const hookbox = new URL(fromSource ? '../../src/index.ts' : '../../dist/src/index.js', import.meta.url).href;

const secret = SECRET;

/** A folder with a module in it. */
function folderWith(name: string, source: string): string {
  const folder = scratchFolder();
  writeFileSync(join(folder, name), source);
  return folder;
}

describe('hookbox serve', () => {
  it('stores what is authentic, prints a line for each delivery, and ends with 0 on SIGTERM', async () => {
    const cwd = scratchFolder();
    const serve = await serving([], { cwd });
    expect(serve.stderr).toEqual([
      'No handlers: hookbox stores events and does not handle them.',
      `hookbox receives deliveries at ${serve.url} and stores them in hookbox.db`,
    ]);
    const body = fixture('order.created');
    expect(await deliver(serve.url, body, { secret })).toMatchObject({ status: 200 });
    await deliver(serve.url, body, { secret });
    await deliver(serve.url, body, { secret: 'forged' });
    await deliver(serve.url, fixture('edge/invalid-field-type'), { secret });
    const invalid = await serve.line('invalid, stored as dead');
    expect(invalid).toContain('(invalid, stored as dead: data.total: Invalid input: expected number, received string)');

    const { code, stdout } = await serve.stop('SIGTERM');
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines).toHaveLength(4);
    const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
    expect(lines[0]).toMatch(new RegExp(`^${time} 200 stored order\\.created evt_3PqT8mXkRz4VwYb2 \\d+\\.\\d ms$`));
    expect(lines[1]).toContain('200 duplicate order.created evt_3PqT8mXkRz4VwYb2');
    expect(lines[2]).toContain('401 rejected - signature-mismatch');

    await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
    const stored = await inbox.list();
    expect(stored.map(({ state }) => state)).toEqual(['pending', 'dead']);
    expect(Buffer.from(stored[0]?.body ?? [])).toEqual(body);
  });

  it('runs the handlers of a TypeScript module, with a line for each attempt', async () => {
    const cwd = folderWith(
      'handlers.ts',
      `import { PermanentError, type Handlers } from ${JSON.stringify(hookbox)};
      let failures = 1;
      const handlers: Handlers = {
        'order.created': async (event, ctx) => ctx.log.info({ total: event.data.total }, 'seen'),
        'order.ready': () => {
          if (failures-- > 0) throw new Error('out of\\nstock');
        },
        'order.failed': () => {
          throw new PermanentError('no such order');
        },
        'cart.abandoned': async (event, ctx) => {
          await ctx.transaction((database) => database.exec('CREATE TABLE mine (id TEXT)'));
        },
      };
      export default handlers;`,
    );
    const serve = await serving(['handlers.ts'], { cwd });
    for (const type of ['order.created', 'order.ready', 'order.failed', 'cart.abandoned']) {
      await deliver(serve.url, fixture(type), { secret });
    }
    expect(await serve.line('handler processed order.created')).toContain('(attempt 1)');
    expect(await serve.line('handler failed order.ready')).toMatch(
      /\(attempt 1: out of\\u\{a\}stock, again at 2\S+Z\)$/,
    );
    expect(await serve.line('handler processed order.ready')).toContain('(attempt 2)');
    expect(await serve.line('handler dead order.failed')).toContain('(attempt 1: no such order)');
    expect(await serve.line('handler processed cart.abandoned')).toContain('(attempt 1)');

    const { code, stdout, stderr } = await serve.stop('SIGTERM');
    expect(code).toBe(0);
    expect(stdout.match(/ handler /g)).toHaveLength(5);
    expect(stderr).toContain(
      'seen (endpoint=default, id=evt_3PqT8mXkRz4VwYb2, type=order.created, attempt=1, total=30.05)',
    );
    expect(stderr).not.toContain('No handlers');
    expect(stderr).not.toMatch(/hookbox: (handler failed|event is dead|event processed)/);
  });

  it.each([
    ['export const handlers', 'handlers.mjs', "export const handlers = { '*': () => {} };"],
    ['module.exports', 'handlers.cjs', "module.exports = { 'order.created'() {} };"],
    ['handlers in module.exports', 'handlers.cjs', "module.exports = { handlers: { 'order.created'() {} } };"],
  ])('takes %s', async (_, name, source) => {
    const serve = await serving([name], { cwd: folderWith(name, source) });
    await deliver(serve.url, fixture('order.created'), { secret });
    await serve.line('handler processed order.created');
  });

  it('prints NDJSON, and nothing else on stdout', async () => {
    const cwd = folderWith('handlers.mjs', "export default { 'order.created': () => { throw new Error('no'); } };");
    const serve = await serving(['handlers.mjs', '--output', 'ndjson'], { cwd });
    const at = Date.now();
    await deliver(serve.url, fixture('order.created'), { secret });
    await deliver(serve.url, fixture('order.created'), { secret, signature: null });
    await serve.line('signature-missing');
    await serve.line('"kind":"attempt"');
    const { stdout } = await serve.stop('SIGTERM');
    const [stored, ...rest] = stdout.split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    const event = { type: 'order.created', id: 'evt_3PqT8mXkRz4VwYb2', ms: expect.any(Number) };
    expect(stored).toEqual({
      kind: 'delivery',
      at: expect.any(String),
      status: 200,
      outcome: 'stored',
      reason: null,
      conflict: false,
      invalid: false,
      issue: null,
      unhandled: false,
      ...event,
    });
    // On a slow machine the handler may have run again by then.
    const lines = stdout.split('\n').filter((line) => !/"attempt":[2-9]/.test(line));
    expect(lines.filter((line) => /"ms":\d+(\.\d)?,/.test(line))).toHaveLength(3);
    expect(Math.abs(Date.parse(String(stored?.['at'])) - at)).toBeLessThan(60_000);
    expect(rest).toContainEqual(
      expect.objectContaining({ kind: 'delivery', outcome: 'rejected', id: null, reason: 'signature-missing' }),
    );
    expect(rest).toContainEqual({
      kind: 'attempt',
      at: expect.any(String),
      outcome: 'failed',
      attempt: 1,
      error: 'no',
      stack: expect.stringContaining('handlers.mjs'),
      againAt: expect.any(String),
      ...event,
    });
  });

  it('says of what it stores that no handler takes its type', async () => {
    const source = "export default { 'order.created': () => {} };";
    const serve = await serving(['it.mjs'], { cwd: folderWith('it.mjs', source) });
    await deliver(serve.url, fixture('order.created'), { secret });
    await deliver(serve.url, fixture('order.ready'), { secret });
    await deliver(serve.url, fixture('order.ready'), { secret });
    await deliver(serve.url, fixture('edge/unknown-type'), { secret });
    await serve.line('handler processed');
    const { stdout } = await serve.stop('SIGTERM');
    const remarked = stdout.split('\n').filter((line) => line.endsWith(' ms (no handler)'));
    expect(remarked).toHaveLength(2);
    expect(remarked[0]).toContain('200 stored order.ready');

    const all = await serving(['it.mjs', '--output', 'ndjson'], {
      cwd: folderWith('it.mjs', "export default { '*': () => {} };"),
    });
    await deliver(all.url, fixture('edge/unknown-type'), { secret });
    expect(JSON.parse(await all.line('"kind":"delivery"'))).toMatchObject({ outcome: 'stored', unhandled: false });
  });

  it('aligns and colours interactive output, and not with NO_COLOR', async () => {
    const cwd = scratchFolder();
    const coloured = await serving(['--output', 'interactive'], { cwd, env: { FORCE_COLOR: '1' } });
    await deliver(coloured.url, fixture('order.created'), { secret });
    expect(await coloured.line('stored')).toContain('\u{1b}[32m200 stored');
    await coloured.stop('SIGTERM');

    const plain = await serving(['--output', 'interactive'], { cwd, env: { NO_COLOR: '1' } });
    await deliver(plain.url, fixture('order.created'), { secret });
    await deliver(plain.url, fixture('cart.abandoned'), { secret });
    const lines = [await plain.line('order.created'), await plain.line('cart.abandoned')];
    expect(lines.join('')).not.toContain('\u{1b}');
    expect(new Set(lines.map((line) => line.indexOf('evt_'))).size).toBe(1);
  });

  it('keeps what handlers print out of its own output', async () => {
    const source = "console.log('loading'); export default { '*': (event) => console.info('seen', event.id) };";
    const serve = await serving(['it.mjs', '--output', 'ndjson'], { cwd: folderWith('it.mjs', source) });
    await deliver(serve.url, fixture('order.created'), { secret });
    await serve.line('"kind":"attempt"');
    const { stdout, stderr } = await serve.stop('SIGTERM');
    for (const line of stdout.split('\n')) expect(JSON.parse(line)).toHaveProperty('kind');
    expect(stderr).toContain('loading');
    expect(stderr).toContain('seen evt_3PqT8mXkRz4VwYb2');
  });

  it('with --verbose prints the stacks of what handlers throw', async () => {
    const source = "export default { '*': function ofMine() { throw new Error('no'); } };";
    const cwd = folderWith('it.mjs', source);
    const quiet = await serving(['it.mjs'], { cwd });
    await deliver(quiet.url, fixture('order.created'), { secret });
    await quiet.line('handler failed');
    expect((await quiet.stop('SIGTERM')).stderr).not.toContain('ofMine');

    const verbose = await serving(['it.mjs', '--verbose'], { cwd });
    await deliver(verbose.url, fixture('cart.abandoned'), { secret });
    await verbose.line('handler failed cart.abandoned');
    expect(await verbose.note('ofMine')).toMatch(/^ +at .*ofMine.*it\.mjs:1:\d+/);
  });

  it('answers what is under way before it ends, with 130 on SIGINT', async () => {
    const serve = await serving([], { cwd: scratchFolder() });
    const body = fixture('order.created');
    const delivery = await begun(serve.url, body);
    const ended = serve.stop('SIGINT');
    await serve.note('Stopping when');
    expect(serve.child.exitCode).toBeNull();
    const { status, answer } = await delivery.finish();
    expect({ status, answer }).toEqual({
      status: 200,
      answer: '{"received":true,"duplicate":false,"id":"evt_3PqT8mXkRz4VwYb2"}',
    });
    const { code, stdout } = await ended;
    expect(code).toBe(130);
    expect(stdout).toContain('200 stored order.created');
  });

  it('ends at once on the second signal', async () => {
    const serve = await serving([], { cwd: scratchFolder() });
    await begun(serve.url, fixture('order.created'));
    const ended = serve.stop('SIGTERM');
    await serve.note('Stopping when');
    expect(serve.child.exitCode).toBeNull();
    serve.child.kill('SIGTERM');
    expect((await ended).code).toBe(130);
  });

  it('takes unsigned deliveries only when it is told to', async () => {
    const serve = await serving(['--unsafe-unsigned'], { cwd: scratchFolder(), env: { SIGNING_SECRET: '' } });
    const answer = await deliver(serve.url, fixture('order.created'), { secret, signature: null });
    expect(answer.status).toBe(200);
    expect(serve.stderr).toContainEqual(
      expect.stringMatching(/^hookbox does not check signatures, even if SIGNING_SECRET/),
    );
  });

  it('takes deliveries at its path alone', async () => {
    const serve = await serving(['--path', '/hooks', '--db', 'other.db'], { cwd: scratchFolder() });
    expect(new URL(serve.url).pathname).toBe('/hooks');
    expect((await fetch(serve.url)).status).toBe(405);
    const elsewhere = await fetch(new URL('/webhooks', serve.url), { method: 'POST', body: 'x' });
    expect(elsewhere.status).toBe(404);
    expect(await elsewhere.text()).toContain('Send deliveries to /hooks.');
    expect(await serve.line('404')).toMatch(/ 404 rejected - no webhook at \/webhooks \d/);
    expect(serve.stderr.at(-1)).toContain('stores them in other.db');
  });

  it('says what to do about a port that is taken', async () => {
    const taken = await listening(() => {});
    const { port } = new URL(taken.url);
    const ran = await runHookbox(['serve', '--port', port], { cwd: scratchFolder(), refused: true });
    await taken.close();
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain(`error: Port ${port} is in use. Choose a different --port.`);
  });

  it.each([
    ['a module that is not there', 'export {}', ['nowhere.mjs'], 4, 'The file nowhere.mjs does not exist.'],
    ['a key that is no type', "export default { 'order.craeted': () => {} }", ['it.mjs'], 2, '"order.craeted"'],
    [
      'a handler that is none',
      "export default { 'order.ready': 1 }",
      ['it.mjs'],
      2,
      'The handler of order.ready must be a function or { handle, … }, not number.',
    ],
    ['no handlers', 'export default 3', ['it.mjs'], 2, 'it.mjs exports no handlers. Add: export default {'],
    ['a syntax error', 'export default {', ['it.mjs'], 1, 'To find the error, run node --check it.mjs.'],
    ['an import that is not there', "import 'no-such-package'", ['it.mjs'], 1, "Cannot find package 'no-such-package'"],
    ['no path', '', ['--path', 'webhooks'], 2, 'Use a path that begins with /.'],
    ['no way of output', '', ['--output', 'loud'], 2, 'Allowed choices are'],
    ['another machine to forward to', '', ['--forward-to', 'http://example.com/'], 2, 'Add --allow-remote'],
    ['a folder that is not there', '', ['--db', 'nowhere/hookbox.db'], 1, 'nowhere does not exist'],
    ['a folder for the inbox', '', ['--db', '.'], 2, '. is a folder. Pass the path of a file.'],
    ['a folder for the module', '', ['.'], 2, 'is a folder. Pass the path of a file.'],
    ['a missing secret', '', ['--secret-file', 'nowhere'], 4, 'hookbox cannot read the secret'],
  ])('given %s, says so in one line and ends', async (_, source, args, code, message) => {
    const ran = await runHookbox(['serve', '--port', '0', ...args], {
      cwd: folderWith('it.mjs', source),
      refused: true,
    });
    expect(ran).toMatchObject({ code, stdout: '' });
    expect(ran.stderr).toContain(message);
    expect(ran.stderr).not.toMatch(/^\s+at /m);
  });

  it.skipIf(process.platform !== 'linux')('says what to check where the inbox cannot be made', async () => {
    const ran = await runHookbox(['serve', '--port', '0', '--db', '/proc/hookbox.db'], {
      cwd: scratchFolder(),
      refused: true,
    });
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^error: .* Check the permissions of the file and of its folder\.\n$/);
  });

  it('ends after an error although the module of its handlers holds something open', async () => {
    const cwd = folderWith('it.mjs', "setInterval(() => {}, 1e3); export default { '*': () => {} };");
    const ran = await runHookbox(['serve', 'it.mjs', '--db', 'nowhere/hookbox.db'], { cwd });
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: .*nowhere does not exist.*\n$/) });
    writeFileSync(join(cwd, 'it.mjs'), 'setInterval(() => {}, 1e3); export default 3;');
    expect(await runHookbox(['serve', 'it.mjs'], { cwd })).toMatchObject({ code: 2 });
  }, 20_000);

  it('without a secret says where it comes from', async () => {
    const ran = await runHookbox(['serve', '--port', '0'], {
      cwd: scratchFolder(),
      env: { SIGNING_SECRET: '' },
      refused: true,
    });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('Set SIGNING_SECRET or pass --secret-file.');
  });

  it.skipIf(fromSource)('says what to do where Node does not run TypeScript', async () => {
    const cwd = folderWith('handlers.ts', 'export default {}');
    const ran = await runHookbox(['serve', 'handlers.ts'], { cwd, env: { NODE_OPTIONS: '--no-strip-types' } });
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toContain('does not run TypeScript. Use Node 22.18 or newer, or compile handlers.ts');
  });
});

/** A delivery whose body has arrived but for its last byte. */
async function begun(
  url: string,
  body: Buffer,
): Promise<{ finish(): Promise<{ readonly status: number | undefined; readonly answer: string }> }> {
  const headers = { 'X-Signature': signBody(body, SECRET), 'Content-Length': body.byteLength };
  const sent = request(url, { method: 'POST', headers });
  sent.on('error', () => {});
  const answered = once(sent, 'response');
  answered.catch(() => {});
  await new Promise((resolve) => sent.write(body.subarray(0, -1), resolve));
  // The receiver has it once it has answered what was sent after it.
  await fetch(url);
  return {
    async finish() {
      sent.end(body.subarray(-1));
      const [response] = (await answered) as [IncomingMessage];
      return { status: response.statusCode, answer: await text(response) };
    },
  };
}
