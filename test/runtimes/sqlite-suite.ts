import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { expectAccepted } from '../adapters/expected-answer.ts';
import { send } from '../adapters/wire.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { signedEvent } from '../helpers/signed-event.ts';
import { inboxChecks, PLACEMENTS } from './inbox-checks.ts';
import { remoteHost } from './remote-host.ts';
import { runProcess, startProcess } from './runtime-process.ts';

const checked = z.object({ name: z.string(), failure: z.string().nullable() });

/**
 * An inbox in SQLite on a runtime, written by a thread and on the event loop.
 *
 * @param command - what runs a module there
 * @param server - the module of `servers/` that serves receivers
 */
export function testSqliteInbox(runtime: string, command: () => readonly string[], server: string): void {
  describe.each(PLACEMENTS)(`an inbox in SQLite on ${runtime}, written by its %s`, (placement) => {
    const folder = onDisk();
    let running: Promise<ReadonlyMap<string, string | null>> | undefined;
    const checks = (): Promise<ReadonlyMap<string, string | null>> => (running ??= check());

    async function check(): Promise<ReadonlyMap<string, string | null>> {
      const given = [placement, mkdtempSync(join(folder, 'checks-'))];
      // It ends by itself once everything is closed.
      const { lines } = await runProcess(command(), 'check-inbox.ts', given);
      return new Map(lines.map((line) => checked.parse(JSON.parse(line))).map(({ name, failure }) => [name, failure]));
    }

    it.each(Object.keys(inboxChecks))('%s', async (name) => {
      expect((await checks()).get(name)).toBeNull();
    });

    it('keeps what it has answered 200 when the process is killed', async () => {
      const start = () => startProcess(command(), server);
      const inbox = { file: join(folder, 'killed.db'), thread: placement === 'thread' };
      const events = Array.from({ length: 20 }, () => signedEvent());
      const killed = await start();
      const first = await remoteHost(killed, 'hookbox/sqlite').open({ inbox });
      const answers = await Promise.all(events.map((event) => send(first.url, event)));
      await killed.kill();

      await using restarted = await start();
      await using second = await remoteHost(restarted, 'hookbox/sqlite').open({ inbox });

      for (const [n, event] of events.entries()) {
        const answer = answers[n];
        if (answer !== undefined) expectAccepted(answer, { id: event.id, duplicate: false });
        expectAccepted(await send(second.url, event), { id: event.id, duplicate: true });
      }
      const stored = new Map((await second.events()).map(({ id, body }) => [id, body]));
      expect(stored).toEqual(new Map(events.map(({ id, body }) => [id, Buffer.from(body).toString('base64')])));
    });
  });

  const idle = onDisk();
  it(`keeps no process alive on ${runtime} that leaves its inbox open`, async () => {
    const { lines } = await runProcess(command(), 'idle-inbox.ts', [join(idle, 'idle.db')]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([{ stored: 1, threads: 2 }]);
  });
}

/** Not in memory: there, Deno would want every permission there is. */
function onDisk(): string {
  return suiteFolder(tmpdir());
}
