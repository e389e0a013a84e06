import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { expectAccepted, expectDuplicate } from '../adapters/expected-answer.ts';
import { send } from '../adapters/wire.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { signedEvent } from '../helpers/signed-event.ts';
import { inboxChecks, PLACEMENTS, type Placement } from './inbox-checks.ts';
import { remoteHost } from './remote-host.ts';
import { runProcess, startProcess } from './runtime-process.ts';

const checked = z.object({ name: z.string(), failure: z.string().nullable() });

/** `server` is a module of `servers/`. */
export function testSqliteInbox(runtime: string, command: () => readonly string[], server: string): void {
  const lasting = onDisk();
  const events = Array.from({ length: 20 }, () => signedEvent());
  let killing: ReturnType<typeof killed> | undefined;
  const killedOnce = (): ReturnType<typeof killed> => (killing ??= killed());
  afterAll(async () => {
    const over = await killing?.catch(() => null);
    await over?.restarted[Symbol.asyncDispose]();
  });

  /** One process is killed with an inbox of each placement, because starts are slow. */
  async function killed() {
    const start = () => startProcess(command(), server);
    const files = {
      thread: { file: join(lasting, 'killed-thread.db'), thread: true },
      loop: { file: join(lasting, 'killed-loop.db'), thread: false },
    };
    const first = await start();
    const answersOf = async (placement: Placement) => {
      const { url } = await remoteHost(first, 'hookbox/sqlite').open({ inbox: files[placement] });
      return Promise.all(events.map((event) => send(url, event)));
    };
    const [thread, loop] = await Promise.all([answersOf('thread'), answersOf('loop')]);
    await first.kill();
    return { files, answered: { thread, loop }, restarted: await start() };
  }

  describe.each(PLACEMENTS)(`an inbox in SQLite on ${runtime}, written by its %s`, (placement) => {
    let running: Promise<ReadonlyMap<string, string | null>> | undefined;
    const checks = (): Promise<ReadonlyMap<string, string | null>> => (running ??= check());

    async function check(): Promise<ReadonlyMap<string, string | null>> {
      const given = [placement, mkdtempSync(join(lasting, 'checks-'))];
      // It ends by itself.
      const { lines } = await runProcess(command(), 'check-inbox.ts', given);
      return new Map(lines.map((line) => checked.parse(JSON.parse(line))).map(({ name, failure }) => [name, failure]));
    }

    it.each(Object.keys(inboxChecks))('%s', async (name) => {
      expect((await checks()).get(name)).toBeNull();
    });

    it('keeps what it has answered 200 when the process is killed', async () => {
      const { files, answered, restarted } = await killedOnce();
      const answers = answered[placement];
      await using second = await remoteHost(restarted, 'hookbox/sqlite').open({ inbox: files[placement] });

      for (const [n, event] of events.entries()) {
        const answer = answers[n];
        if (answer !== undefined) expectAccepted(answer, event);
        expectDuplicate(await send(second.url, event), event);
      }
      const stored = new Map((await second.events()).map(({ id, body }) => [id, body]));
      expect(stored).toEqual(new Map(events.map(({ id, body }) => [id, Buffer.from(body).toString('base64')])));
    });
  });

  it(`keeps no process alive on ${runtime} that leaves its inbox open`, async () => {
    const { lines } = await runProcess(command(), 'idle-inbox.ts', [join(lasting, 'idle.db')]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([{ stored: 1, threads: 2 }]);
  });
}

/** In memory, Deno would need every permission. */
function onDisk(): string {
  return suiteFolder(tmpdir());
}
