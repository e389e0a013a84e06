// @module-tag long
// @module-tag dear
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../src/testing/fixtures.ts';
import { deliver } from '../../src/sender/deliver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { nobodyThere } from './listening.ts';
import { recordingServer, statuses } from './recording-server.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';
import { serving } from './serving.ts';

const secret = SECRET;

describe('hookbox serve --forward-to', () => {
  it('forwards the exact bytes of what it has accepted, whatever becomes of them there', async () => {
    const other = await recordingServer(statuses(200, 500));
    const serve = await serving(['--forward-to', other.url], { cwd: scratchFolder() });
    const body = fixture('order.created');
    expect(await deliver(serve.url, body, { secret })).toMatchObject({ status: 200 });
    await serve.line('forwarded 200 order.created evt_3PqT8mXkRz4VwYb2');
    expect(await deliver(serve.url, body, { secret })).toMatchObject({ status: 200 });
    expect(await serve.line('forwarded 500')).toContain(`(${other.url})`);
    await deliver(serve.url, body, { secret: 'forged' });
    await serve.line('401 rejected');
    await serve.stop('SIGTERM');
    expect(other.requests).toHaveLength(2);
    expect(other.requests[0]?.body.equals(body)).toBe(true);
    expect(other.requests[0]?.headers).toMatchObject({
      'x-signature': signBody(body, SECRET),
      'content-type': 'application/json',
    });
  });

  it('adds no Content-Type to a delivery that has none', async () => {
    const other = await recordingServer();
    const serve = await serving(['--forward-to', other.url], { cwd: scratchFolder() });
    await deliver(serve.url, fixture('order.created'), { secret, headers: { 'Content-Type': undefined } });
    await serve.line('forwarded 200');
    expect(other.requests[0]?.headers).not.toHaveProperty('content-type');
  });

  it('answers as ever when nobody listens where it forwards to', async () => {
    const gone = await nobodyThere();
    const serve = await serving(['--forward-to', gone], { cwd: scratchFolder() });
    expect(await deliver(serve.url, fixture('order.created'), { secret })).toMatchObject({ status: 200 });
    expect(await serve.line('forwarded')).toContain(`forwarded --- order.created evt_3PqT8mXkRz4VwYb2`);
    expect(await serve.line('forwarded')).toContain('the connection was refused');
  });

  it('shows what the other server answered, a short piece of it on one line', async () => {
    const other = await recordingServer((response, index) =>
      response.writeHead(422).end(index === 0 ? 'out of\n\u001b[31mstock' : 'x'.repeat(10_000)),
    );
    const serve = await serving(['--forward-to', other.url], { cwd: scratchFolder() });
    await deliver(serve.url, fixture('order.created'), { secret });
    expect(await serve.line('forwarded 422 order.created')).toContain(`${other.url}: out of \\u{1b}[31mstock)`);
    await deliver(serve.url, fixture('cart.abandoned'), { secret });
    expect((await serve.line('forwarded 422 cart.abandoned')).length).toBeLessThan(500);
  });

  it('does not send on what another serve has sent on, so two of them end', async () => {
    const other = await recordingServer();
    const last = await serving(['--forward-to', other.url], { cwd: scratchFolder() });
    const first = await serving(['--forward-to', last.url], { cwd: scratchFolder() });
    await deliver(first.url, fixture('order.created'), { secret });
    await first.line('forwarded 200');
    expect(await last.note('does not forward it')).toContain('X-Hookbox-Forwarded');
    await deliver(last.url, fixture('cart.abandoned'), { secret });
    await last.line('forwarded 200 cart.abandoned');
    expect(other.requests).toHaveLength(1);
  });

  it.each(['127.0.0.1', 'localhost'])('refuses to send on to itself at %s', async (host) => {
    const { port } = new URL(await nobodyThere());
    const args = ['serve', '--port', port, '--forward-to', `http://${host}:${port}/webhooks`];
    const ran = await runHookbox(args, { cwd: scratchFolder() });
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain('is this server.');
  });

  it('sends on what waits before it ends', async () => {
    const other = await recordingServer((response) => setTimeout(() => response.end(), 200));
    const serve = await serving(['--forward-to', other.url], { cwd: scratchFolder() });
    const bodies = Array.from({ length: 40 }, (_, index) => Buffer.from(event(index)));
    await Promise.all(bodies.map((body) => deliver(serve.url, body, { secret })));
    const { stdout } = await serve.stop('SIGINT');
    expect(stdout.match(/forwarded 200/g)).toHaveLength(40);
    expect(other.requests).toHaveLength(40);
  });

  it('says at once what it leaves out because too much waits, and how to send it later', async () => {
    const other = await recordingServer(() => delay(60_000, undefined, { ref: false }));
    const serve = await serving(['--forward-to', other.url], { cwd: scratchFolder() });
    for (let index = 0; index < 90; index += 1) {
      await deliver(serve.url, Buffer.from(event(index, 'x'.repeat(1_000_000))), { secret });
    }
    // On a slow machine the first of them have run out of time before.
    const line = await serve.line('too many deliveries are waiting');
    expect(line).toMatch(
      / forwarded --- .*too many deliveries are waiting; to send it: hookbox replay evt_\d+ --to http:\S+\)$/,
    );
  });
});

function event(index: number, note = ''): string {
  return JSON.stringify({ id: `evt_${index}`, type: 'order.test', created: '2026-01-01T00:00:00Z', data: { note } });
}
