/** Sends 1 MB in chunks of one byte on each connection, and reports when asked. */
import { setImmediate as turn } from 'node:timers/promises';
import { connect, requestHead, type Connection } from '../wire.ts';

const [url = '', count = '', signature = ''] = process.argv.slice(2);
const BYTES = 1_000_000;
const CHUNK = Buffer.from('1\r\nx\r\n');

const report = { connections: 0, open: 0, written: 0, statuses: [] as number[] };
process.on('message', () => process.send?.(report));
process.on('disconnect', () => process.exit());

const connections = await Promise.all(Array.from({ length: Number(count) }, () => connect(url)));
const headers = signature === '' ? [] : [['X-Signature', signature] as const];
const sent = new Map<Connection, number>();
for (const connection of connections) {
  await connection.write(requestHead(url, { framing: 'chunked', headers }));
  sent.set(connection, 0);
  connection.answer().then(
    ({ status }) => report.statuses.push(status),
    () => {},
  );
}
report.connections = sent.size;
report.open = sent.size;

// A write to each connection that takes it, then a turn of the event loop.
while (sent.size > 0) {
  for (const [connection, bytes] of sent) {
    const { socket } = connection;
    if (socket.destroyed || bytes === BYTES) sent.delete(connection);
    else if (socket.writableLength === 0) {
      socket.write(CHUNK);
      sent.set(connection, bytes + 1);
      report.written += 1;
    }
  }
  report.open = sent.size;
  await turn();
}
