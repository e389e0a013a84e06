/** Takes a delivery into the file named on the command line, and prints the answer and what the file then holds. */
const { createReceiver, signBody } = require('hookbox');
const { sqliteInbox } = require('hookbox/sqlite');

const secret = 'a signing secret';
const event = { id: 'evt_1', type: 'order.created', created: '2026-01-01T12:00:00Z', data: { object: 'order' } };
const body = new TextEncoder().encode(JSON.stringify(event));

async function deliver(file) {
  const inbox = sqliteInbox(file);
  const receiver = createReceiver({ secret, inbox });
  const { status } = await receiver.receive({ method: 'POST', signature: signBody(body, secret), body });
  await receiver.close();
  await inbox.close();

  const reopened = sqliteInbox(file);
  const stored = (await reopened.list()).map(({ id, type, state }) => ({ id, type, state }));
  await reopened.close();
  process.stdout.write(JSON.stringify({ status, stored }));
}

void deliver(process.argv[2]);
