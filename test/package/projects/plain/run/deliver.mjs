/** Takes a delivery into the file named on the command line, and prints the answer and what the file then holds. */
import { createReceiver, signBody } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';

const secret = 'a signing secret';
const event = { id: 'evt_1', type: 'order.created', created: '2026-01-01T12:00:00Z', data: { object: 'order' } };
const body = new TextEncoder().encode(JSON.stringify(event));

const inbox = sqliteInbox(process.argv[2]);
const receiver = createReceiver({ secret, inbox });
const { status } = await receiver.receive({ method: 'POST', signature: signBody(body, secret), body });
await receiver.close();
await inbox.close();

const reopened = sqliteInbox(process.argv[2]);
const stored = (await reopened.list()).map(({ id, type, state }) => ({ id, type, state }));
await reopened.close();
process.stdout.write(JSON.stringify({ status, stored }));
