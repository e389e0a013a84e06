import { expect, it } from 'vitest';
import type { By } from '../../src/inbox/operator/acts.ts';
import { prunableStates } from '../../src/inbox/event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { eraseEntity } from '../../src/ops/erase.ts';
import { exportEvents } from '../../src/ops/export.ts';
import { importEvents } from '../../src/ops/import.ts';
import { pruneEvents } from '../../src/ops/prune.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { FAILED, handled, plantDead } from './events-in-states.ts';
import { faults, planOf, recorded } from './query-plan.ts';

const ADA: By = { actor: 'ada', now: START };

it.each([
  ['as SQLite guesses how large the tables are', false],
  ['with statistics of the tables', true],
])('never goes through a whole table, %s', async (_, analysed) => {
  const database = merchantDatabase();
  await sqliteInbox({ database }).close();
  const texts = recorded(database);
  await using inbox = sqliteInbox({ database });
  const before = new Set(texts);
  await handled(inbox, { outcome: 'processed' }, orderEvent('a'), orderEvent('b'));
  await handled(inbox, FAILED, orderEvent('c'), orderEvent('d'));
  await store(inbox, orderEvent('e'), orderEvent('f'));

  const lines: string[] = [];
  for await (const line of exportEvents(inbox, ADA)) lines.push(line);
  for await (const line of exportEvents(inbox, ADA, { states: ['dead'] })) expect(line).toBeDefined();
  await eraseEntity(inbox, 'a', ADA);
  await pruneEvents(inbox, { settledBefore: new Date(START + 9), states: prunableStates, types: ['none'] }, ADA);
  await pruneEvents(inbox, { settledBefore: new Date(START + 9), states: prunableStates }, ADA);
  await importEvents(inbox, lines, ADA, { dryRun: true });
  const other = merchantDatabase(scratchFile('other.db'));
  const otherTexts = recorded(other);
  await using copy = sqliteInbox({ database: other });
  await importEvents(copy, lines, ADA);

  // Of few rows, statistics say little.
  plantDead(database, ...Array.from({ length: 300 }, (__, n) => orderEvent(`dead_${n}`)));
  if (analysed) database.exec('ANALYZE');
  const asked = [...texts, ...otherTexts].filter(
    (sql) => !before.has(sql) && /\bhookbox_/.test(sql) && /^\s*(SELECT|WITH|DELETE|INSERT|UPDATE)/.test(sql),
  );
  const found = asked.flatMap((sql) => faults(sql, planOf(database, sql)).map((fault) => ({ sql, fault })));
  expect(found).toEqual([]);

  const plans = asked.flatMap((sql) => planOf(database, sql)).join('\n');
  for (const index of ['prunable', 'put_away_at', 'by_id']) {
    expect(plans).toContain(`INDEX hookbox_events_${index} `);
  }
  for (const table of ['terms', 'entities', 'attempts', 'redeliveries', 'conflicts', 'audit', 'bulks']) {
    expect(asked.join('\n')).toContain(`hookbox_${table}`);
  }
});
