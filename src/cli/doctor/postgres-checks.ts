import { InboxOpenError, isInstance, messageOf } from '../../errors.ts';
import { USUAL_SCHEMA } from '../../host/postgres-url.ts';
import { performance } from '../../host/real-timers.ts';
import { lookForLost, NONE_LOST, wordsOfLost, type LostFound } from '../../inbox/postgres/daily-look.ts';
import { driver } from '../../inbox/postgres/driver/connections.ts';
import { DatabaseFailure } from '../../inbox/postgres/driver/faults.ts';
import type { Session } from '../../inbox/postgres/driver/session.ts';
import { missingMigrations, NEWEST } from '../../inbox/postgres/opening/migrate.ts';
import { onServer } from '../../inbox/postgres/opening/open.ts';
import {
  readRights,
  readServer,
  faultsOf,
  missingRight,
  missingRows,
  sequenceFaults,
  tableFaults,
  versionText,
  type Rights,
  type Server,
} from '../../inbox/postgres/opening/server-faults.ts';
import { databaseFaults } from '../../inbox/postgres/operator/database-faults.ts';
import { quoted, tablesIn } from '../../inbox/postgres/sql/tables.ts';
import { shownInbox, type DbOptions } from '../shared/options.ts';
import { ok, problem, warning, type Finding } from './machine-checks.ts';

export async function checkPostgres(options: DbOptions): Promise<readonly Finding[]> {
  try {
    await driver();
  } catch (failure) {
    return [problem('pg', messageOf(failure), 'Install pg for the receiver: npm install pg')];
  }
  const loads = ok('pg', 'loads');
  try {
    return [loads, ...(await onServer(options.db, (session) => checkServer(session, options)))];
  } catch (failure) {
    const what = `hookbox cannot use ${shownInbox(options)}: ${messageOf(failure)}`;
    const advice = isInstance(failure, InboxOpenError)
      ? 'The server is running. Correct the URL, or create the role or the database that the URL names.'
      : 'Check the URL and start the server, or pass a different --db.';
    return [loads, problem('server', what, advice)];
  }
}

async function checkServer(session: Session, options: DbOptions): Promise<readonly Finding[]> {
  const { schema = USUAL_SCHEMA } = options;
  const server = await readServer(session);
  const times = await readTimes(session);
  const rights = await readRights(session, schema);
  const mayWork = judgeRights(rights, schema);
  const mayLook = !rights.there || (rights.uses && !rights.closed.includes('migrations'));
  const name = `Postgres ${versionText(server.version)} at ${shownInbox(options)}`;
  return [
    ok('server', `${name} answers in ${times.tookMs.toFixed(1)} ms`),
    ...judgeServer(server),
    mayWork,
    ...judgeSearchPath(rights, schema),
    ...orOk(
      'tables',
      await tableFaults(session, schema),
      'no setting of a table deletes or hides rows, or blocks writes',
    ),
    ...(mayLook ? await checkMigrations(session, schema, mayWork.status === 'ok') : []),
    judgeApart(times.apartMs),
    ...orOk('database', await databaseFaults(session, schema), 'autovacuum is on, and connections are free', warning),
    ...((await isPooled(session)) ? [POOLED] : []),
  ];
}

function orOk(check: string, faults: readonly Fault[], fine: string, found = problem): readonly Finding[] {
  return faults.length === 0 ? [ok(check, fine)] : faults.map(({ what, advice }) => found(check, what, advice));
}

interface Fault {
  readonly what: string;
  readonly advice: string;
}

const CHECKS = {
  version: 'server',
  standby: 'primary',
  encoding: 'encoding',
  fsync: 'durability',
  synchronous_commit: 'durability',
} as const;

export function judgeServer(server: Server): readonly Finding[] {
  const faults = faultsOf(server).map(({ setting, what, advice }) => problem(CHECKS[setting], what, advice));
  const well = [
    ok('primary', 'the server accepts writes'),
    ok('encoding', server.encoding),
    ok('durability', `fsync is ${server.fsync}, and synchronous_commit ${server.synchronous_commit}`),
  ];
  return [...well.filter(({ check }) => faults.every((fault) => fault.check !== check)), ...faults];
}

export function judgeRights(rights: Rights, schema: string): Finding {
  const missing = missingRight(rights, schema);
  if (missing !== null) return problem('rights', missing.what, missing.advice);
  const action = rights.there ? 'use an inbox' : `create the schema ${schema}`;
  return ok('rights', `the role ${quoted(rights.role)} may ${action}`);
}

/** A warning where the application would create its own tables by mistake. */
function judgeSearchPath({ role, isFirst }: Rights, schema: string): readonly Finding[] {
  if (!isFirst) return [];
  const own = role === schema ? ', because the role and the schema have the same name' : '';
  const what = `if a CREATE statement names no schema, Postgres creates the object in ${schema}, where the tables of the inbox are${own}`;
  const advice = `Rename the role, or run ALTER ROLE ${quoted(role)} SET search_path = public`;
  return [warning('search_path', what, advice)];
}

async function checkMigrations(session: Session, schema: string, mayWork: boolean): Promise<readonly Finding[]> {
  try {
    const missing = await missingMigrations(session, { schema, tables: tablesIn(schema) });
    const how = mayWork
      ? 'run hookbox migrate, or start a receiver without migrate: false'
      : 'run hookbox migrate with a role that can create tables';
    if (missing === null) return [ok('migrations', `the schema ${schema} has no inbox yet; to create it, ${how}`)];
    if (missing.length === 0) {
      const isNewest = ok('migrations', `the schema ${schema} has version ${NEWEST}`);
      return [isNewest, ...(mayWork ? await checkContents(session, schema) : [])];
    }
    const versions = missing.map(({ version }) => version).join(', ');
    const what = `the schema ${schema} lacks the migrations ${versions} of ${NEWEST}; to apply them, ${how}`;
    return [ok('migrations', what)];
  } catch (failure) {
    if (isInstance(failure, InboxOpenError)) {
      return [problem('migrations', failure.message, 'Update this installation of hookbox.')];
    }
    if (!isInstance(failure, DatabaseFailure) || failure.fault !== 'refused') throw failure;
    const what = `the schema ${schema} has a table of another program: ${failure.message}`;
    return [problem('migrations', what, 'Use a different --schema.')];
  }
}

/** The events examined in one query, and the time limit for all queries. */
const LOOKED_AT = 2_000;
const LOOK_MS = 5_000;

async function checkContents(session: Session, schema: string): Promise<readonly Finding[]> {
  const tables = tablesIn(schema);
  const missing = await missingRows(session, { schema, tables });
  const sequences = await sequenceFaults(session, tables);
  const until = performance.now() + LOOK_MS;
  let found: LostFound = NONE_LOST;
  while (!found.isOver && performance.now() < until) found = await lookForLost(session, tables, found, LOOKED_AT);
  const lost = wordsOfLost(tables, found);
  const upTo = found.isOver
    ? ''
    : ` (doctor checked up to number ${found.behind}; processors check every event once a day)`;
  return [
    ...missing.map(({ what, advice }) => problem('tables', what, advice)),
    ...(sequences === null
      ? [ok('sequences', 'this role cannot read the sequences; run doctor as the owner of the tables')]
      : orOk('sequences', sequences, 'the sequences are ahead of the stored numbers')),
    ...orOk('events', lost === null ? [] : [lost], `every event has a state, so none is lost${upTo}`),
  ];
}

interface Times {
  readonly tookMs: number;
  /** how far the clock of the server is ahead of the clock of this machine */
  readonly apartMs: number;
}

async function readTimes(session: Session): Promise<Times> {
  const all: Times[] = [];
  for (let tries = 0; tries < 5; tries += 1) {
    const requestedAt = performance.now();
    const row = await session.row<{ ms: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms',
    );
    const tookMs = performance.now() - requestedAt;
    all.push({ tookMs, apartMs: (row?.ms ?? 0) + tookMs / 2 - Date.now() });
  }
  return all.reduce((best, each) => (each.tookMs < best.tookMs ? each : best));
}

export function judgeApart(ms: number): Finding {
  const apart = Math.abs(ms);
  const far = apart < 1_000 ? `${Math.round(apart)} ms` : `${(apart / 1_000).toFixed(1)} s`;
  const what = `the clock of the server is ${far} ${ms < 0 ? 'behind' : 'ahead of'} the clock of this machine`;
  if (apart <= 5_000) return ok('server clock', what);
  return warning('server clock', what, 'Set both clocks with NTP: hookbox uses the clock of the server.');
}

const POOLED = ok(
  'pooler',
  'a pooler, such as PgBouncer, is in use; this is fine, but hookbox then looks for events from other ' +
    'machines only once a second',
);

/** A pooler invents a process number for the connection, and the server uses another one. */
async function isPooled(session: Session): Promise<boolean> {
  const processId: unknown = Reflect.get(session.connection, 'processID');
  const row = await session.row<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return typeof processId === 'number' && processId > 0 && processId !== row?.pid;
}
