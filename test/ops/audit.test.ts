import type Database from 'better-sqlite3';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { auditLines } from '../../src/ops/audit.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
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

it('an inbox in memory has none, and says so', async () => {
  await expect(auditLines(memoryInbox())).rejects.toThrow('sqliteInbox');
});
