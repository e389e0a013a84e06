// Postgres inside the test's own process: npm install -D @electric-sql/pglite hookbox pg
import { Duplex } from 'node:stream';
import pg from 'pg';

/**
 * A pool of `pg` on a PGlite database, for postgresInbox({ pool }, { ephemeral: true }) and for your own queries. PGlite
 * has one connection, so the pool has one too: inside ctx.transaction, use the client that the function receives.
 */
export function pglitePool(db) {
  const pool = new pg.Pool({ max: 1, user: 'postgres', database: 'postgres', stream: () => connectionTo(db) });
  pool.on('error', () => {}); // a connection that fails while nobody uses it
  return pool;
}

/** The bytes of `pg` go to PGlite, and its answers come back. */
function connectionTo(db) {
  const stream = new Duplex({
    read() {},
    writev(chunks, done) {
      const asked = Buffer.concat(chunks.map(({ chunk }) => chunk));
      db.execProtocolRaw(asked).then((answer) => {
        stream.push(answer);
        done();
      }, done);
    },
  });
  for (const name of ['setNoDelay', 'setKeepAlive', 'ref', 'unref']) stream[name] = () => stream;
  // An earlier connection may have left an open transaction and prepared statements.
  const clear = () => db.exec('ROLLBACK').then(() => db.exec('DISCARD ALL'));
  stream.connect = () =>
    clear().then(
      () => stream.emit('connect'),
      (failure) => stream.destroy(failure),
    );
  return stream;
}
