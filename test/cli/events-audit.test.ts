import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { auditLines, type AuditFilter } from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { suiteFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';
import { ndjson } from './stocked-inbox.ts';

const NOON = Date.UTC(2026, 0, 30, 12);
const HOUR = 60 * 60_000;
const folder = suiteFolder();

beforeAll(async () => {
  await using inbox = sqliteInbox(`${folder}/hookbox.db`);
  for (const [actor, hour] of [['ada', -13] as const, ['ada', 0] as const, ['bob', 1] as const, ['ada', 12] as const]) {
    await operationsOf(inbox).note('rerun', { actor, now: NOON + hour * HOUR, via: 'page' }, { hour }, { done: 1 });
  }
});

function audit(...args: readonly string[]): Promise<Ran> {
  return runHookbox(['events', 'audit', ...args], { cwd: folder });
}

it.each<[readonly string[], AuditFilter]>([
  [['--actor', 'ada'], { actor: 'ada' }],
  [
    ['--since', '2026-01-30', '--until', '2026-01-31'],
    { since: new Date('2026-01-30T00:00:00Z'), until: new Date('2026-01-31T00:00:00Z') },
  ],
  [['--actor', 'ada', '--since', '2026-01-30 12:00'], { actor: 'ada', since: new Date(NOON) }],
])('hookbox events audit %j prints what the function finds', async (args, filter) => {
  const ran = await audit(...args, '--json');
  const inbox = sqliteInbox(`${folder}/hookbox.db`);
  onTestFinished(() => inbox.close());
  const { lines } = await auditLines(inbox, filter);
  expect(ran.code).toBe(0);
  expect(lines).not.toEqual([]);
  expect(ndjson(ran)).toEqual(JSON.parse(JSON.stringify(lines)));
});

it('says that nobody did that, and refuses what it cannot read', async () => {
  const [nobody, when, whom] = await Promise.all([
    audit('--actor', 'eve'),
    audit('--since', 'last week'),
    audit('--actor', ' '),
  ]);
  expect(nobody).toMatchObject({ code: 0, stdout: '', stderr: 'No entry matches the filter.\n' });
  expect([when.code, whom.code]).toEqual([2, 2]);
  expect(when.stderr).toContain('--since "last week" must be a time');
});
