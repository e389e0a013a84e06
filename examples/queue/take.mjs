import { createReceiver } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });

/** For each message: delete it from the queue only when this resolves to true. */
export async function take({ body, signature }) {
  const { status } = await receiver.receive({ body: Buffer.from(body), signature });
  return status === 200;
}
