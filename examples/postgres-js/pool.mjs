// npm install hookbox postgres
import { EventEmitter } from 'node:events';
import postgres from 'postgres';

/**
 * A pool of postgres.js connections, for postgresInbox({ pool }). In ctx.transaction, `client.query(text, values)` returns
 * `{ rows }`, as `pg` does; `types` of postgres.js apply.
 *
 * Each connection is a postgres.js client of its own. A client with several connections, and sql.reserve(), may send the
 * next statement of a transaction through a new connection after the first one was lost.
 */
export function postgresJsPool(url, { max = 10, ...options } = {}) {
  const [open, idle, waiting] = [new Set(), [], []];

  async function connect() {
    const free = idle.pop();
    if (free !== undefined) return free;
    if (open.size >= max) return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    const connection = new Connection(url, options, { giveBack, forget });
    open.add(connection);
    await connection.query('SELECT 1').catch((failure) => {
      connection.end();
      throw failure;
    });
    return connection;
  }

  function giveBack(connection) {
    const next = waiting.shift();
    if (next === undefined) idle.push(connection);
    else next.resolve(connection);
  }

  function forget(connection) {
    if (!open.delete(connection)) return;
    if (idle.includes(connection)) idle.splice(idle.indexOf(connection), 1);
    const next = waiting.shift();
    if (next !== undefined) connect().then(next.resolve, next.reject);
  }

  return { options: { max }, connect, end: () => Promise.all([...open].map((connection) => connection.end())) };
}

class Connection extends EventEmitter {
  #sql;
  #pool;
  #lostBy = null;
  #earlier = Promise.resolve();

  constructor(url, options, pool) {
    super();
    this.#pool = pool;
    const own = { max: 1, max_lifetime: null, idle_timeout: null, transform: undefined };
    const onnotice = (notice) => this.emit('notice', notice);
    this.#sql = postgres(url, { ...options, ...own, onnotice, onclose: () => this.#lost() });
  }

  /** One at a time: postgres.js would send those that wait through a new connection. */
  query(statement, values) {
    const asked = typeof statement === 'string' ? { text: statement } : statement;
    const answer = this.#earlier.then(() => this.#ask({ ...asked, values: values ?? asked.values ?? [] }));
    this.#earlier = answer.catch(() => {});
    return answer;
  }

  async #ask({ text, values, name, types }) {
    if (this.#lostBy !== null) throw this.#lostBy;
    const query = this.#sql.unsafe(text, values.map(toParameter), { prepare: name !== undefined });
    try {
      const answer = await (types === undefined ? query : query.raw());
      return answer.command === undefined ? answer.map((each) => toResult(each, types)) : toResult(answer, types);
    } catch (failure) {
      throw Object.assign(failure, { schema: failure.schema_name, constraint: failure.constraint_name });
    }
  }

  #lost() {
    this.#lostBy ??= new Error('Connection terminated');
    this.#pool.forget(this);
    if (this.listenerCount('error') > 0) this.emit('error', this.#lostBy);
  }

  release(isBroken) {
    if (isBroken) void this.end();
    else if (this.#lostBy === null) this.#pool.giveBack(this);
  }

  end() {
    this.#lost();
    return this.#sql.end({ timeout: 0 });
  }
}

/** postgres.js would take the type of an array from its first element. */
function toParameter(value) {
  return Array.isArray(value) ? arrayText(value) : (value ?? null);
}

function arrayText(values) {
  return `{${values.map((value) => (Array.isArray(value) ? arrayText(value) : elementText(value))).join()}}`;
}

function elementText(value) {
  if (value === null || value === undefined) return 'NULL';
  const text = value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value);
  return `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** hookbox reads columns by its own `types`, so it asks for their bytes. */
function toResult(result, types) {
  const columns = result.columns ?? [];
  const parsed = (bytes, { type }) => (bytes === null ? null : types.getTypeParser(type)(bytes.toString()));
  const named = (row) => Object.fromEntries(columns.map((column, at) => [column.name, parsed(row[at], column)]));
  const rows = types === undefined ? [...result] : Array.from(result, named);
  return { rows, fields: columns.map(({ name }) => ({ name })), rowCount: result.count, command: result.command };
}
