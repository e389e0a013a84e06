// @module-tag longest
import { Pool } from 'pg';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { postgresInbox } from '../../../src/inbox/postgres/postgres-inbox.ts';
import { auditLines, deadGroups, listBulks, listEvents } from '../../../src/ops/index.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { stock } from '../../cli/stocked-inbox.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName } from '../../helpers/postgres.ts';
import { scratchFolder } from '../../helpers/scratch-folder.ts';
import { exportOfAnother, threeWays, withoutPlaces, type Stocked, type Way } from '../../ops/three-ways.conformance.ts';

const schema = schemaName();
let url: string;
let pool: Pool;
let moreLines: readonly string[];

beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url });
  await using inbox = opened();
  await stock(inbox);
  moreLines = await exportOfAnother(inbox);
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});

/** No act here uses the connection of a transaction. */
function opened(): Inbox {
  return postgresInbox(url, { schema }) as unknown as Inbox;
}

/** The schema is used in turn. */
async function restocked(before: Way['before']): Promise<Stocked> {
  await emptySchema(pool, schema);
  const inbox = opened();
  onTestFinished(() => inbox.close());
  await stock(inbox);
  await before?.(inbox);
  const folder = scratchFolder();
  return {
    inbox,
    folder,
    named: { args: ['--schema', schema], options: { cwd: folder, env: { HOOKBOX_DB: url } } },
    leftBehind: () => leftBehind(inbox),
  };
}

async function leftBehind(inbox: Inbox): Promise<unknown> {
  const exported: unknown[] = [];
  const pages = operationsOf(inbox).exportPages({});
  for (let page = await pages.next(); page !== null; page = await pages.next()) {
    exported.push(...page.lines.map((line) => JSON.parse(line) as unknown));
  }
  const { events } = await listEvents(inbox, {}, { limit: 100 });
  const { lines } = await auditLines(inbox);
  const audit = lines.map(({ act, actor, reason, filter, counts }) => {
    return { act, actor, reason, filter: withoutPlaces(filter), counts };
  });
  const known = (await deadGroups(inbox)).map(
    ({ acknowledged }) => acknowledged && { ...acknowledged, at: 'some time' },
  );
  return JSON.parse(JSON.stringify({ exported, events, bulks: await listBulks(inbox), known, audit }), withoutTimes);
}

function withoutTimes(key: string, value: unknown): unknown {
  return (key.endsWith('Ms') || key.endsWith('At')) && value !== null ? 'some time' : value;
}

threeWays(restocked, () => moreLines);
