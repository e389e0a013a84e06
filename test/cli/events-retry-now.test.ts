import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { auditLines, getEvent } from '../../src/ops/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { FAILED, failure, handled } from '../ops/events-in-states.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';

const HOUR_MS = 3_600_000;
const BY = ['--actor', 'ada', '--reason', 'the warehouse is back'];

function retryNow(cwd: string, ...args: readonly string[]): Promise<Ran> {
  return runHookbox(['events', 'retry-now', ...args], { cwd });
}

async function inboxOf<T>(folder: string, look: (inbox: Inbox) => Promise<T>): Promise<T> {
  await using inbox = sqliteInbox(join(folder, 'hookbox.db'));
  return await look(inbox);
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

/** Whether each is due. */
function due(cwd: string, ...ids: readonly string[]): Promise<readonly boolean[]> {
  return inboxOf(cwd, (inbox) =>
    Promise.all(
      ids.map(async (id) => {
        const dueAt = (await getEvent(inbox, { endpoint: 'default', id }))?.summary.dueAt;
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
