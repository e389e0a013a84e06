import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fixture } from '../../src/testing/fixtures.ts';
import { deliver } from '../../src/sender/deliver.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { recordingServer, statuses } from './recording-server.ts';
import { SECRET, startHookbox } from './run-hookbox.ts';
import { running, serving, type Running } from './serving.ts';

/** As `head -1` does. */
function stopReading({ child }: Running): void {
  child.stdout?.destroy();
}

describe('a reader that goes away', () => {
  it('ends trigger as Ctrl-C does', async () => {
    const server = await recordingServer((response) => setTimeout(() => response.end(), 5));
    const trigger = running(['trigger', 'order.ready', '--count', '2000', '--to', server.url]);
    await trigger.line('200');
    stopReading(trigger);
    const { code, stderr } = await trigger.ended();
    expect(code).toBe(130);
    expect(stderr).toMatch(new RegExp(`^${server.requests.length} sent: `, 'm'));
    expect(server.requests.length).toBeLessThan(2000);
  });

  it('lets serve answer what is under way and close', async () => {
    const serve = await serving([], { cwd: scratchFolder() });
    stopReading(serve);
    expect(await deliver(serve.url, fixture('order.created'), { secret: SECRET })).toMatchObject({ status: 200 });
    expect(await serve.ended()).toMatchObject({ code: 130, stderr: expect.stringContaining('Stopping when') });
  });

  it('does not make a failure look right', async () => {
    const schema = running(['schema']);
    stopReading(schema);
    expect(await schema.ended()).toMatchObject({ code: 130, stderr: '' });
  });

  it('of standard error ends nothing with a stack', async () => {
    const serve = await serving([], { cwd: scratchFolder() });
    serve.child.stderr?.destroy();
    serve.child.kill('SIGTERM');
    const [code] = (await once(serve.child, 'close')) as [number | null];
    expect([0, 130]).toContain(code);
  });
});

describe.skipIf(!existsSync('/dev/full'))('output that cannot be written', () => {
  it.each([['schema'], ['trigger', 'order.ready', '--dry-run'], ['trigger', 'order.ready', '--count', '3']])(
    'ends %s with one line',
    async (...args) => {
      const { url } = await recordingServer(statuses(200));
      const full = openSync('/dev/full', 'w');
      onTestFinished(() => closeSync(full));
      const child = startHookbox(args, { stdout: full, env: { HOOKBOX_URL: url } });
      const stderr = child.stderr === null ? '' : text(child.stderr);
      const [code] = (await once(child, 'close')) as [number | null];
      expect({ code, stderr: await stderr }).toEqual({
        code: 1,
        stderr: 'error: hookbox cannot write its output: ENOSPC: no space left on device, write.\n',
      });
    },
  );
});
