import { expect, it } from 'vitest';
import { expectAccepted } from '../adapters/expected-answer.ts';
import { signedEvent } from '../helpers/signed-event.ts';
import { send } from '../adapters/wire.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { remoteHost } from './remote-host.ts';
import type { RuntimeProcess } from './runtime-process.ts';

/** What a runtime has stored in SQLite is there after `kill -9`. */
export function testSqliteInbox(runtime: string, start: () => Promise<RuntimeProcess>): void {
  it(`keeps what it has answered 200 in SQLite on ${runtime} when the process is killed`, async () => {
    const inbox = { file: scratchFile() };
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
}
