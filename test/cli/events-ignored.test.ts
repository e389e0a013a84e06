import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { PRESENT_MS } from '../../src/inbox/rules/processors.ts';
import { discardEvents, stats } from '../../src/ops/index.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { runHookbox } from './run-hookbox.ts';

const hookbox = fileURLToPath(new URL('../../dist/src/cli/hookbox.js', import.meta.url));
const HOUR_MS = 60 * 60_000;

async function paste(command: string, folder: string): Promise<string> {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'hookbox'), `#!/bin/sh\nexec '${process.execPath}' '${hookbox}' "$@"\n`);
  chmodSync(join(bin, 'hookbox'), 0o755);
  const path = [bin, process.env['PATH']].join(delimiter);
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', command], { env: { PATH: path }, cwd: folder });
  return stdout;
}

it('the command that a processor logs reruns what was ignored, and nothing else', async () => {
  const folder = scratchFolder();
  const file = join(folder, "ada's shop.db");
  const endpoint = 'shop a';
  const at = (id: string, receivedAt: number, type = 'order.created', where = endpoint) => ({
    ...orderEvent(id, { order: id, type, receivedAt }),
    endpoint: where,
  });
  await using inbox = sqliteInbox(file);
  const now = Date.now();
  const old = now - 8 * 24 * HOUR_MS;
  const carts = { endpoints: '*', types: ['cart.abandoned'] } as const;
  await store(inbox, at('too old', old));
  await inbox.announce(carts, old + PRESENT_MS, old);
  const before = now - HOUR_MS;
  await store(inbox, at('one', old), at('two', before), at('discarded', before));
  await store(inbox, at('other type', before, 'order.failed'), at('other endpoint', before, 'order.created', 'shop b'));
  await discardEvents(inbox, [{ endpoint, id: 'discarded' }], { actor: 'ada', now: before });
  await inbox.announce(carts, before + PRESENT_MS, before);

  const log = recordedLog();
  const processor = createProcessor({
    inbox,
    endpoint,
    logger: log.logger,
    handlers: { 'order.created': () => {}, 'order.ready': () => {} },
  });
  await processor.start();
  await expect.poll(() => log.lines.length).toBe(1);
  await processor.close();
  const [line] = log.lines;
  expect(line).toMatchObject({ level: 'warn', facts: { endpoint, count: 2 } });
  const command = String(line?.facts['command']);

  expect(await paste(`${command} --dry-run`, folder)).toMatch(
    /^Will rerun 2 events: 2 order\.created; all ignored; all at shop a\./,
  );
  await paste(`${command} --yes`, folder);
  const states = Object.fromEntries((await inbox.list()).map(({ id, state }) => [id, state]));
  expect(states).toEqual({
    'too old': 'ignored',
    one: 'pending',
    two: 'pending',
    discarded: 'discarded',
    'other type': 'ignored',
    'other endpoint': 'ignored',
  });
});

it('hookbox events stats, and the function, say what no processor handles and what can be rerun', async () => {
  const folder = scratchFolder();
  const file = join(folder, 'hookbox.db');
  const now = Date.now();
  {
    await using inbox = sqliteInbox(file);
    await store(inbox, orderEvent('put away', { order: 'a', receivedAt: now - 3 * HOUR_MS }));
    await inbox.announce({ endpoints: ['default'], types: ['order.failed'] }, now - 2 * HOUR_MS, now - 2.5 * HOUR_MS);
    await inbox.announce({ endpoints: ['default'], types: ['order.ready'] }, now - 2 * HOUR_MS, null);
    await inbox.announce({ endpoints: ['default'], types: ['order.created'] }, now, null);
    await store(inbox, orderEvent('waiting', { type: 'order.ready', order: 'b', receivedAt: now - HOUR_MS }));
    expect((await stats(inbox)).unhandled).toMatchObject({
      waiting: [{ endpoint: 'default', type: 'order.ready', count: 1, since: new Date(now - 2 * HOUR_MS) }],
      ignored: [{ endpoint: 'default', type: 'order.created', count: 1, handled: true }],
    });
  }
  const { code, stdout } = await runHookbox(['events', 'stats'], { cwd: folder });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^no processor has handled order\.ready at default since .*: 1 pending$/m);
  const [command] = /^hookbox events rerun .*$/m.exec(stdout) ?? [''];
  await paste(`${command} --yes`, folder);
  await using inbox = sqliteInbox(file);
  expect((await inbox.get({ endpoint: 'default', id: 'put away' }))?.state).toBe('pending');
});
