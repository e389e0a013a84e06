import Database from 'better-sqlite3';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { actOn, foundForAct } from '../../src/cli/events/act.ts';
import { typedCount } from '../../src/cli/shared/secret.ts';
import {
  auditLines,
  discardEvents,
  listBulks,
  listEvents,
  previewBulk,
  pruneEvents,
  rerunEvents,
  runBulk,
  type EventFilter,
  getEvent,
} from '../../src/ops/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { claimed, FAILED, failure, handled, invalidThen, key } from '../ops/events-in-states.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';
import { running } from './serving.ts';
import { events, folderOfDead, inboxOf, stockedFolder } from './stocked-inbox.ts';

/** Id and state of every event, oldest first. */
function statesIn(folder: string): Promise<readonly string[]> {
  return inboxOf(folder, async (inbox) => {
    const { events } = await listEvents(inbox, {}, { limit: 500 });
    return events.map(({ id, state, attempts }) => `${id} ${state} ${attempts}`).toReversed();
  });
}

function auditIn(folder: string) {
  return inboxOf(folder, async (inbox) => {
    const { lines } = await auditLines(inbox);
    return lines.map(({ act, actor, reason, filter, counts }) => ({ act, actor, reason, filter, counts }));
  });
}

/** Waits until a bulk action has come to some of its events. */
function begun(folder: string): Promise<void> {
  return inboxOf(folder, (inbox) =>
    vi.waitFor(async () => expect((await listBulks(inbox))[0]?.worked).toBeGreaterThan(0), { timeout: 20_000 }),
  );
}

function copyOf(folder: string): string {
  const copy = scratchFolder();
  copyFileSync(join(folder, 'hookbox.db'), join(copy, 'hookbox.db'));
  return copy;
}

describe('hookbox events rerun and discard, by ids', () => {
  it('act at once, say what became of each, and do what the typed function does', async () => {
    const cwd = await stockedFolder();
    const twin = copyOf(cwd);
    const ids = ['evt_dead_1', 'evt_done', 'evt_invalid', 'evt_hostile'];
    const ran = await events(cwd, 'rerun', ...ids, 'evt_no', '--actor', 'ada', '--reason', 'mended');
    expect(ran).toEqual({
      code: 3,
      stdout:
        'rerun  evt_dead_1\nunchanged: not dead, ignored or discarded  evt_done\n' +
        'still invalid under the current schemas  evt_invalid\nrerun  evt_hostile\n',
      stderr:
        'hookbox.db has no event "evt_no".\n2 events are pending; a processor with handlers will handle them.\n' +
        'No processor is running. The events wait until you start one.\nTo rerun processed events, add --force.\n',
    });
    const keys = ids.map(key);
    await inboxOf(twin, (inbox) => rerunEvents(inbox, keys, { actor: 'ada', reason: 'mended' }));
    expect(await statesIn(cwd)).toEqual(await statesIn(twin));
    expect(await auditIn(cwd)).toEqual(await auditIn(twin));
    expect((await inboxOf(cwd, (inbox) => auditLines(inbox))).lines[0]).toMatchObject({ via: 'cli' });
  });

  it.each(['', '--dry-run'])('act only on those in the state that is named (%s)', async (dry) => {
    const cwd = await stockedFolder();
    const before = await statesIn(cwd);
    const none = await events(cwd, 'rerun', 'evt_dead_1', '--state', 'ignored', ...(dry === '' ? [] : [dry]));
    expect([none.code, none.stdout]).toEqual([
      1,
      'unchanged: no longer in the expected state, for example because it was discarded  evt_dead_1\n',
    ]);
    expect(await statesIn(cwd)).toEqual(before);
    const some = await events(cwd, 'discard', 'evt_dead_1', '--state', 'dead', '--state', 'pending');
    expect([some.code, some.stdout]).toEqual([0, 'discarded  evt_dead_1\n']);
    const both = await events(cwd, 'rerun', 'evt_dead_1', '--type', 'order.created');
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('Use only one of these: event ids')]);
  });

  it('offers --force only for what it would take', async () => {
    const cwd = await stockedFolder();
    const waiting = await events(cwd, 'rerun', 'evt_new', 'evt_pruned');
    expect(waiting.stdout).toContain('unchanged: not dead, ignored or discarded  evt_new\n');
    expect(waiting.stderr).not.toContain('--force');
    const processed = await events(cwd, 'rerun', 'evt_new', 'evt_done', '--dry-run');
    expect(processed.stderr).toBe('To rerun processed events, add --force.\n');
  });

  it.each(['rerun', 'rerun --force', 'discard'])('%s foresees on a dry run what will happen', async (act) => {
    const cwd = await stockedFolder();
    await inboxOf(cwd, async (inbox) => {
      await store(inbox, orderEvent('evt_put_away'), invalidThen(orderEvent('evt_fits_today')), orderEvent('evt_busy'));
      await claimed(inbox, key('evt_busy'), Date.now());
    });
    const before = await statesIn(cwd);
    const ids = before.map((line) => line.split(' ')[0] ?? '');
    const dry = await events(cwd, ...act.split(' '), '--json', '--dry-run', ...ids);
    expect(await statesIn(cwd)).toEqual(before);
    expect(await auditIn(cwd)).toEqual([]);
    const done = await events(cwd, ...act.split(' '), '--json', ...ids);
    expect(dry).toEqual({ ...done, stderr: expect.any(String) });
    expect(done.code).toBe(3);
    expect(new Set(done.stdout.match(/(?<="result":")[^"]+/g)).size).toBeGreaterThan(1);
  });
});

describe('hookbox events rerun and discard, by a filter', () => {
  it('does what previewBulk and runBulk do', async () => {
    const cwd = await stockedFolder();
    const twin = copyOf(cwd);
    const ran = await events(cwd, 'rerun', '--state', 'dead', '--error', 'shop', '--yes', '--actor', 'ada', '--json');
    expect(ran).toMatchObject({
      code: 0,
      stderr:
        'Will rerun 2 events: 1 order.created and 1 order.ready; all dead (failed). Nothing has happened yet.\n' +
        'No processor is running. The events wait until you start one.\n' +
        '2 rerun\n2 events are pending; a processor with handlers will handle them.\n' +
        'To see the result later: hookbox events bulks 1\n',
    });
    const filter = { states: ['dead'], error: 'shop' } as const;
    const bulk = await inboxOf(twin, async (inbox) => {
      const { id } = await previewBulk(inbox, 'rerun', filter, { actor: 'ada' });
      return await runBulk(inbox, id, { actor: 'ada' });
    });
    const at = expect.any(String) as string;
    const time = { createdAt: at, startedAt: at, endedAt: at, ranMs: expect.any(Number) };
    expect(JSON.parse(ran.stdout)).toEqual({ ...(JSON.parse(JSON.stringify(bulk)) as object), ...time });
    expect(await statesIn(cwd)).toEqual(await statesIn(twin));
    expect(await auditIn(cwd)).toEqual(await auditIn(twin));
  });

  it('without a terminal asks for --yes, and has looked at nothing then', async () => {
    const cwd = await stockedFolder();
    expect(await events(cwd, 'discard', '--state', 'dead')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: Confirmation needs a terminal. Add --yes to confirm, or --dry-run for a preview.\n',
    });
    expect(await inboxOf(cwd, (inbox) => listBulks(inbox))).toEqual([]);
  });

  it('takes discarded events only where the filter names that state', async () => {
    const cwd = await stockedFolder();
    await inboxOf(cwd, (inbox) => discardEvents(inbox, [key('evt_dead_1')], { actor: 'ada' }));
    const ids = ['--id', 'evt_dead_1'];
    const [unnamed, named] = await Promise.all([
      events(cwd, 'rerun', ...ids, '--yes'),
      events(cwd, 'rerun', ...ids, '--state', 'discarded', '--dry-run', '--json'),
    ]);
    expect(unnamed).toMatchObject({
      code: 4,
      stderr:
        'hookbox.db has no matching event that can be rerun.\n' +
        'To rerun ignored or discarded events, add --state ignored or --state discarded.\n',
    });
    expect(named.code).toBe(0);
    expect(JSON.parse(named.stdout)).toMatchObject({ total: 1, first: [{ id: 'evt_dead_1' }] });
    expect(await statesIn(cwd)).toContain('evt_dead_1 discarded 1');
    const listed = await events(cwd, 'list', '--state', 'discarded', '--json');
    expect(JSON.parse(listed.stdout)).toMatchObject({ id: 'evt_dead_1', state: 'discarded' });
  });

  it('on a dry run shows how many, which and the newest of them, and writes nothing; nor when nothing fits', async () => {
    const cwd = await folderOfDead(30);
    const before = await statesIn(cwd);
    const [people, programs, none] = await Promise.all([
      events(cwd, 'discard', '--all', '--dry-run'),
      events(cwd, 'rerun', '--type', 'order.created', '--dry-run', '--json'),
      events(cwd, 'rerun', '--state', 'processed', '--yes'),
    ]);
    expect(people).toMatchObject({ code: 0, stderr: '' });
    expect(people.stdout).toMatch(
      /^Will discard 30 events: 30 order\.created; all dead \(failed\)\. Nothing has happened yet\.\n\nThe newest events:\n\n/,
    );
    expect(people.stdout.match(/(?<= {2})dead_\d+/g)).toEqual(Array.from({ length: 10 }, (_, n) => `dead_${29 - n}`));
    expect(JSON.parse(programs.stdout)).toMatchObject({
      act: 'rerun',
      filter: { types: ['order.created'] },
      total: 30,
      breakdown: {
        states: { dead: 30 },
        types: { 'order.created': 30 },
        deadReasons: { failed: 30 },
        endpoints: { default: 30 },
      },
      first: expect.objectContaining({ length: 10 }),
    });
    expect(await statesIn(cwd)).toEqual(before);
    expect(await inboxOf(cwd, (inbox) => listBulks(inbox))).toEqual([]);
    expect(await auditIn(cwd)).toEqual([]);
    expect(none).toEqual({ code: 4, stdout: '', stderr: 'hookbox.db has no matching event that can be rerun.\n' });
  });

  it.each([
    ['rerun', {}],
    ['rerun', { force: true }],
    ['rerun', { states: ['discarded', 'processed'] }],
    ['discard', {}],
    ['discard', { force: true, states: ['dead'] }],
  ] as const)(
    '%s with %j finds on a dry run what previewBulk does, pruned and invalid ones and all',
    async (act, more) => {
      const { force = false, ...filter }: EventFilter & { force?: boolean } = more;
      await using inbox = sqliteInbox(join(await stockedFolder(), 'hookbox.db'));
      await store(inbox, invalidThen(orderEvent('evt_fits_today')));
      await discardEvents(inbox, [orderEvent('evt_fits_today'), orderEvent('evt_dead_2')], { actor: 'ada' });
      const criteria = { settledBefore: new Date(), states: ['dead'] } as const;
      await pruneEvents(inbox, criteria, { actor: 'ada' });
      await store(inbox, { ...invalidThen(orderEvent('evt_odd')), type: 'x'.repeat(300) });
      const { signal } = new AbortController();
      const { first, ...found } = await foundForAct(inbox, act, filter, { force, enough: Infinity, signal });
      const bulk = await previewBulk(inbox, act, filter, { actor: 'ada' }, { force });
      expect(bulk).toMatchObject(found);
      expect(first).toHaveLength(found.total);
      expect(found.total).toBeGreaterThan(0);
    },
  );

  it('stops on Ctrl-C and says how to go on; each event is rerun once', async () => {
    const cwd = await folderOfDead(120);
    const rerun = running(['events', 'rerun', '--all', '--yes', '--rate', '20'], { cwd });
    await begun(cwd);
    const stopped = await rerun.stop('SIGINT');
    expect(stopped).toMatchObject({ code: 130, stdout: '' });
    const [, worked, id = ''] =
      /^Stopped after (\d+) of 120\. To continue: hookbox events rerun --resume (\d+)$/m.exec(stopped.stderr) ?? [];
    expect(Number(worked)).toBeLessThan(120);
    const [resumed, other] = await Promise.all([
      events(cwd, 'rerun', '--resume', id, '--rate', '10000'),
      events(cwd, 'discard', '--resume', id),
    ]);
    expect(other).toMatchObject({
      code: 2,
      stderr: `error: Bulk action ${id} is a rerun. Use hookbox events rerun.\n`,
    });
    const now = 120 - Number(worked);
    const look = 'To see the result later: hookbox events bulks 1\n';
    const told = `${now} rerun\nTotal: 120 rerun\n${now} events are pending; a processor with handlers will handle them.\n${look}`;
    expect(resumed).toMatchObject({ code: 0, stderr: told });
    expect((await statesIn(cwd)).every((line) => line.endsWith(' pending 1'))).toBe(true);
    const [, first] = await auditIn(cwd);
    expect(first).toMatchObject({ act: 'rerun', counts: { done: 120 } });
    expect(await events(cwd, 'rerun', '--cancel', id)).toMatchObject({
      code: 1,
      stderr: `Bulk action ${id} has already ended: done.\n`,
    });
  });

  it('whose inbox fails on the way says how far it is and how to go on, as do the bulk actions', async () => {
    const cwd = await folderOfDead(120);
    const database = new Database(join(cwd, 'hookbox.db'));
    database.exec(`CREATE TRIGGER gone BEFORE UPDATE ON hookbox_bulks WHEN new.worked > 100
      BEGIN SELECT RAISE(ABORT, 'the database is away'); END`);
    const failed = await events(cwd, 'rerun', '--all', '--yes', '--rate', '10000');
    const [, worked = ''] =
      /\nStopped after (\d+) of 120\. To continue: hookbox events rerun --resume 1\nerror: .*away(?: \(SQLITE_\w+\))?\n$/.exec(
        failed.stderr,
      ) ?? [];
    expect(Number(worked)).toBeGreaterThan(0);
    expect(failed.code).toBe(3);
    const listed = await events(cwd, 'bulks');
    expect(listed.stderr).toMatch(
      /^Bulk action 1 stopped at \d+ of 120\. To continue: hookbox events rerun --resume 1$/m,
    );
    expect((await events(cwd, 'bulks', '--json')).stderr).toBe('');
    database.exec('DROP TRIGGER gone');
    database.close();
    const rest = 120 - Number(worked);
    const resumed = await events(cwd, 'rerun', '--resume', '1');
    expect(resumed.stderr).toContain(`${rest} rerun\nTotal: 120 rerun\n${rest} event`);
    expect((await events(cwd, 'bulks')).stderr).toBe('');
  });

  it('is cancelled from elsewhere, and what it has not come to stays', async () => {
    const cwd = await folderOfDead(120);
    const id = await inboxOf(cwd, async (inbox) => (await previewBulk(inbox, 'rerun', {}, { actor: 'ada' })).id);
    const run = running(['events', 'rerun', '--resume', String(id), '--yes', '--rate', '20'], { cwd });
    await begun(cwd);
    const cancelled = await events(cwd, 'rerun', '--cancel', String(id));
    expect(cancelled).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Cancelled bulk action 1 after \d+ of 120 events\.\n$/),
    });
    const ran = await run.ended();
    expect(ran).toMatchObject({ code: 3, stderr: expect.stringContaining('Bulk action 1 was cancelled after ') });
    expect((await statesIn(cwd)).some((line) => line.includes(' dead '))).toBe(true);
  });
});

describe('hookbox events rerun', () => {
  it.each([
    [[], { all: true, type: ['order.ready'] }, '--all selects every event.'],
    [['evt_1'], { type: ['order.ready'] }, 'Use only one of these: event ids'],
    [['evt_1'], { resume: 1 }, 'Use only one of these: event ids'],
    [[], { cancel: 1, all: true }, 'Use only one of these: event ids'],
    [[], { resume: 1, force: true }, 'The preview already decided'],
    [[], { since: 'yesterday' }, '--since "yesterday" must be a time'],
  ])('refuses %j with %j', async (ids, options, message) => {
    await expect(actOn('rerun', ids, { db: 'none.db', ...options })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(message),
    });
  });

  it('says what is wrong with its arguments, and does nothing', async () => {
    const cwd = await stockedFolder();
    const before = await statesIn(cwd);
    const cases: readonly (readonly [args: readonly string[], code: number, message: string])[] = [
      [[], 2, 'Pass event ids, a filter such as --state dead --since 2h, or --all.'],
      [['--resume', '7'], 4, 'hookbox.db has no bulk action 7.'],
      [['--all', '--rate', '0'], 2, 'Use a number above 0.'],
      [['evt_dead_1', '--actor', ' '], 2, 'actor must be a name, such as ada; the audit records it.'],
    ];
    await Promise.all(
      cases.map(async ([args, code, message]) => {
        const ran = await events(cwd, 'rerun', ...args);
        expect(ran, args.join(' ')).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
      }),
    );
    expect(await statesIn(cwd)).toEqual(before);
  });
});

describe('the question before a bulk action', () => {
  function asked(signal = new AbortController().signal) {
    const input = new PassThrough();
    const shown = new PassThrough();
    return { input, shown, answer: typedCount(1_234, 'rerun them', signal, input, shown) };
  }

  it.each([
    ['1234\r', true],
    ['1,234\r', true],
    ['1\r', false],
    ['yes\r', false],
    ['\r', false],
    ['\u0004', false],
  ])('takes %j as %s', async (typed, agreed) => {
    const { input, shown, answer } = asked();
    input.write(typed);
    expect(await answer).toBe(agreed);
    expect(String(shown.read())).toContain('Type 1234 to rerun them, or anything else to cancel: ');
  });

  it('ends with Ctrl-C, and when the command is told to end', async () => {
    const { input, answer } = asked();
    input.write('\u0003');
    await expect(answer).rejects.toMatchObject({ exitCode: 130 });
    const stop = new AbortController();
    const other = asked(stop.signal);
    stop.abort();
    expect(await other.answer).toBe(false);
  });
});

const HOUR_MS = 3_600_000;
const BY = ['--actor', 'ada', '--reason', 'the warehouse is back'];

function retryNow(cwd: string, ...args: readonly string[]): Promise<Ran> {
  return runHookbox(['events', 'retry-now', ...args], { cwd });
}

/** `evt_a` and `evt_b` are tried again in an hour; `evt_due` was to be by now, and `evt_dead` will not be. */
async function stocked(): Promise<string> {
  const cwd = scratchFolder();
  const retry = (inMs: number) => ({ outcome: 'retry', error: failure, dueAt: Date.now() + inMs }) as const;
  await inboxOf(cwd, async (inbox) => {
    await handled(inbox, retry(HOUR_MS), orderEvent('evt_a'), orderEvent('evt_b', { type: 'order.ready' }));
    await handled(inbox, retry(-1), orderEvent('evt_due'));
    await handled(inbox, FAILED, orderEvent('evt_dead'));
  });
  return cwd;
}

function due(cwd: string, ...ids: readonly string[]): Promise<readonly boolean[]> {
  return inboxOf(cwd, (inbox) =>
    Promise.all(
      ids.map(async (id) => {
        const dueAt = (await getEvent(inbox, key(id)))?.summary.dueAt;
        return (dueAt?.getTime() ?? Infinity) <= Date.now();
      }),
    ),
  );
}

it('of ids tells what became of each, as a dry run has foreseen', async () => {
  const cwd = await stocked();
  const ids = ['evt_a', 'evt_due', 'evt_dead', 'evt_no'];
  const dry = await retryNow(cwd, '--dry-run', ...ids);
  expect(await due(cwd, 'evt_a')).toEqual([false]);
  const left = 'unchanged: not pending, or already due';
  expect(await retryNow(cwd, ...ids, ...BY)).toEqual({
    code: 3,
    stdout: `retried now  evt_a\n${left}  evt_due\n${left}  evt_dead\n`,
    stderr:
      'hookbox.db has no event "evt_no".\n1 event is pending; a processor with handlers will handle it.\nNo processor is running. The events wait until you start one.\n',
  });
  expect(dry.stdout).toBe(`would be retried now  evt_a\n${left}  evt_due\n${left}  evt_dead\n`);
  expect(await due(cwd, 'evt_a', 'evt_b')).toEqual([true, false]);
  expect((await inboxOf(cwd, (inbox) => auditLines(inbox))).lines).toMatchObject([
    { act: 'retry-now', actor: 'ada', via: 'cli', reason: 'the warehouse is back' },
  ]);
});

it('by filter shows what it will take, takes exactly that, and finds nothing more', async () => {
  const cwd = await stocked();
  const dry = await retryNow(cwd, '--error', 'shop is down', '--dry-run');
  expect(dry.stdout).toContain('Will retry 2 events: 1 order.ready and 1 order.created; all pending.');
  expect(dry.stdout).not.toMatch(/evt_due|evt_dead/);
  const ran = await retryNow(cwd, '--all', '--yes', ...BY);
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('2 retried now') as unknown });
  expect(await due(cwd, 'evt_a', 'evt_b')).toEqual([true, true]);
  expect(await retryNow(cwd, '--all', '--yes')).toMatchObject({
    code: 4,
    stderr: 'hookbox.db has no matching event that can be retried now.\n',
  });
});

it('of a group of retries takes the name that the list of groups gives it', async () => {
  const cwd = await stocked();
  const listed = (...args: readonly string[]) =>
    runHookbox(['events', 'list', '--groups', '--retrying', ...args], { cwd });
  const group = JSON.parse((await listed('--json')).stdout) as { readonly fingerprint: string };
  const { stdout, stderr } = await listed();
  expect(stdout).toMatch(new RegExp(`^3 .* ${group.fingerprint} .*evt_due +Error: the shop is down$`, 'm'));
  expect(stderr).toBe('To retry a group now: hookbox events retry-now --fingerprint <group>\n');
  expect(await retryNow(cwd, '--fingerprint', group.fingerprint, '--yes')).toMatchObject({ code: 0 });
  expect(await due(cwd, 'evt_a', 'evt_b')).toEqual([true, true]);
  expect(await retryNow(cwd, '--fingerprint', 'nothing', '--yes')).toMatchObject({ code: 4 });
});

it('says what to do where nothing is meant, and refuses a bulk that is to do something else', async () => {
  const cwd = await stocked();
  expect(await retryNow(cwd)).toMatchObject({ code: 2, stderr: expect.stringContaining('--all') as unknown });
  await runHookbox(['events', 'rerun', '--all', '--yes'], { cwd });
  expect(await retryNow(cwd, '--resume', '1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Bulk action 1 is a rerun. Use hookbox events rerun.') as unknown,
  });
});
