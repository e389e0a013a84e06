// Receives and handles on a runtime, with a pool that hookbox opens: check-postgres.ts <url> <schema>
// Writes a line of JSON, and ends by itself.
import { setTimeout as delay } from 'node:timers/promises';
import { createReceiver, signBody } from 'hookbox';
import { postgresInbox } from 'hookbox/postgres';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { SECRET, signedEvent } from '../../helpers/signed-event.ts';

const [url = '', schema = ''] = process.argv.slice(2);
const { logger, lines } = recordedLog();
const inbox = postgresInbox(url, { schema });
const receiver = createReceiver({
  secret: SECRET,
  inbox,
  logger,
  processing: { retry: { baseMs: 10 } },
  handlers: {
    '*': async (event, ctx) => {
      if (ctx.attempt === 1) throw new Error('not yet');
      await ctx.transaction((client) =>
        client.query({ text: `INSERT INTO "${schema}".effects_of_shop VALUES ($1)`, values: [event.id] }),
      );
    },
  },
});
await receiver.start();
const events = Array.from({ length: 20 }, () => signedEvent());
const kinds: string[] = [];
for (const sent of [events, events]) {
  const outcomes = await Promise.all(
    sent.map(({ body }) => receiver.receive({ body, signature: signBody(body, SECRET) })),
  );
  kinds.push(...new Set(outcomes.map(({ kind }) => kind)));
}
const isOver = async (): Promise<boolean> => (await inbox.list()).every(({ state }) => state === 'processed');
while (!(await isOver())) await delay(20);
await receiver.close();
await inbox.close();
const unexpected = lines.filter(({ message }) => !message.startsWith('handler failed'));
console.log(JSON.stringify({ kinds, ids: events.map(({ id }) => id), unexpected }));
