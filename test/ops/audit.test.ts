import type Database from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { addCounts } from '../../src/inbox/operator/audit.ts';
import { auditLines } from '../../src/ops/audit.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { testAudit } from './audit.conformance.ts';

const ADA: By = { actor: 'ada', now: START };

let database: Database.Database;
let inbox: Inbox;

beforeEach(() => {
  database = merchantDatabase();
  inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
});

testAudit('the audit in SQLite', async () => inbox);

it('a line of the audit that cannot be written takes no delivery of its moment along', async () => {
  database.exec("CREATE TRIGGER no_audit BEFORE INSERT ON hookbox_audit BEGIN SELECT raise(ABORT, 'no'); END");
  const [note, delivery] = await Promise.allSettled([
    operationsOf(inbox).note('prune', ADA, {}, {}),
    inbox.accept(orderEvent('evt'), later()),
  ]);
  expect([note.status, delivery.status]).toEqual(['rejected', 'fulfilled']);
});

it('looks at five thousand lines for a page of a filter, and goes on where it stopped', async () => {
  const insert = `
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 12001)
    INSERT INTO hookbox_audit (at_ms, actor, via, act, filter, counts)
    SELECT 1, iif(n IN (1, 7001, 7002), 'ada', 'cron'), 'code', 'prune', 'null', '{}' FROM n`;
  database.exec(insert);
  const pages: unknown[] = [];
  for (let before: number | null | undefined; before !== null;) {
    const { lines, next } = await auditLines(inbox, { actor: 'ada', before: before ?? null });
    pages.push([lines.map(({ seq }) => seq), next]);
    before = next;
  }
  expect(pages).toEqual([
    [[7002], 7002],
    [[7001], 2002],
    [[1], null],
  ]);
});

it.each([
  [{}, { erased: 2 }, { erased: 2 }],
  [{ erased: 3 }, { erased: 2, inProcessing: 1 }, { erased: 5, inProcessing: 1 }],
  [{ other: 1, erased: 3 }, { erased: 0 }, { other: 1, erased: 3 }],
])('a line that has counted %j counts %j more', (before, more, after) => {
  expect(addCounts(before, more)).toEqual(after);
});
