import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { auditLines, listBulks, previewBulk, rejectedDeliveries, rerunEvents, runBulk } from '../../src/ops/index.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';
import { HOSTILE, ndjson, sharedStockedFolder, STEERING } from './stocked-inbox.ts';

const ADA = { actor: `ada ${HOSTILE}`, reason: HOSTILE };

let folder: Awaited<ReturnType<typeof sharedStockedFolder>>;
beforeAll(async () => {
  folder = await sharedStockedFolder();
  await using inbox = sqliteInbox(join(folder.path, 'hookbox.db'));
  const at = Date.now();
  const rejection = { endpoint: 'default', bytes: 12, sha256: 'ab'.repeat(32), source: '203.0.113.7', count: 1, at };
  await operationsOf(inbox).noteRejected([
    { ...rejection, reason: 'signature-mismatch', count: 1_234 },
    { ...rejection, reason: 'body-too-large', bytes: null, sha256: null, source: HOSTILE },
  ]);
  await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_dead_1' }], ADA);
  const { id } = await previewBulk(inbox, 'discard', { types: [HOSTILE] }, ADA);
  await runBulk(inbox, id, ADA);
  await previewBulk(inbox, 'rerun', { states: ['dead'] }, ADA);
});
afterAll(() => folder[Symbol.dispose]());

function events(...args: readonly string[]): Promise<Ran> {
  return runHookbox(['events', ...args], { cwd: folder.path });
}

describe.each([
  {
    name: 'rejected',
    args: [],
    expected: (inbox: Parameters<typeof rejectedDeliveries>[0]) => rejectedDeliveries(inbox),
    row: /^\d{4}-.*Z +\d{4}-.*Z +1,234 +signature-mismatch +12 +203\.0\.113\.7 +default +(ab){32}$/m,
    note: /^signature-mismatch: The signature does not match the body/m,
  },
  {
    name: 'bulks',
    args: [],
    expected: (inbox: Parameters<typeof listBulks>[0]) => listBulks(inbox),
    row: /^2 +\d{4}-.*Z +rerun +previewed +0 +3 +ada .* {2}\{"states":\["dead"\]\}$/m,
    note: /^$/,
  },
  {
    name: 'audit',
    args: ['--limit', '1'],
    expected: async (inbox: Parameters<typeof auditLines>[0]) => (await auditLines(inbox, { limit: 1 })).lines,
    row: /^\d{4}-.*Z +ada .* code +discard +-? +\\u\{1b\}.*"bulk":1/m,
    note: /^Older entries exist\. For the next page, add --before 2$/m,
  },
])('hookbox events $name', ({ name, args, expected, row, note }) => {
  it('prints what the typed function returns, for people and for programs', async () => {
    const [people, programs] = await Promise.all([events(name, ...args), events(name, '--json', ...args)]);
    expect(people.code).toBe(0);
    expect(people.stdout).toMatch(row);
    expect(people.stdout).not.toMatch(STEERING);
    expect(people.stderr).toMatch(note);
    await using inbox = sqliteInbox(join(folder.path, 'hookbox.db'));
    expect(ndjson(programs)).toEqual(JSON.parse(JSON.stringify(await expected(inbox))));
    expect(programs.stdout).not.toMatch(STEERING);
  });
});

describe('hookbox events stats', () => {
  it('prints how things stand, what happened, and how long it took', async () => {
    const [people, programs, wrong] = await Promise.all([
      events('stats'),
      events('stats', '--since', '1h', '--steps', '4', '--json'),
      events('stats', '--since', '2026-02-01', '--until', '2026-01-01'),
    ]);
    expect(people).toMatchObject({ code: 0, stderr: '' });
    expect(people.stdout).toMatch(
      /^Now\npending .* ignored  discarded .*\n-.*\n5 +1 +0 +3 +0 +0 +evt_retrying, for \d+ d/,
    );
    expect(people.stdout).toMatch(/^The last delivery arrived .+ ago\. No processor is running\.$/m);
    expect(people.stdout).toMatch(/^stored +10 +.*[▁▂▃▄▅▆▇█]$/m);
    expect(people.stdout).toMatch(/^rejected +1,235 /m);
    expect(people.stdout).toMatch(/^handlers +6 +1 ms /m);
    expect(people.stdout).toMatch(/^signature-mismatch +1,234$/m);
    expect(JSON.parse(programs.stdout)).toMatchObject({
      now: { pending: { count: 5, more: false }, dead: { count: 3 } },
      totals: { stored: 10, rejected: 1_235, rerun: 1 },
      steps: expect.objectContaining({ length: 4 }),
    });
    expect(wrong).toMatchObject({ code: 2, stdout: '', stderr: 'error: --since must be before --until.\n' });
  });
});

describe('a subcommand without an inbox', () => {
  it('says where it has looked, and makes none', async () => {
    const file = join('none', 'none.db');
    const cases = [['list'], ['rerun', '--all', '--yes'], ['import', '-', '--dry-run'], ['backup', 'copy.db']];
    await Promise.all(
      cases.map(async (args) => {
        expect(await events(...args, '--db', file), args.join(' ')).toEqual({
          code: 4,
          stdout: '',
          stderr: `error: The file ${file} does not exist. Pass the path of the inbox with --db.\n`,
        });
      }),
    );
  });
});
