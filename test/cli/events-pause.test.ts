import { join } from 'node:path';
import { expect, it } from 'vitest';
import { previewBulk, runBulk } from '../../src/ops/index.ts';
import { opsPage } from '../../src/page/operators-page.tsx';
import type { Scope } from '../../src/inbox/work.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { FAILED, handleAgain, handled } from '../ops/events-in-states.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';

const BY = ['--actor', 'ada', '--reason', 'the till is down'];

async function stocked(): Promise<(...args: readonly string[]) => Promise<Ran>> {
  const cwd = scratchFolder();
  await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
  const ready = { type: 'order.ready' };
  await handled(inbox, FAILED, orderEvent('evt_2', ready), orderEvent('evt_3', ready));
  const { id } = await previewBulk(inbox, 'rerun', {}, { actor: 'grace' });
  await runBulk(inbox, id, { actor: 'grace', reason: 'the shop is up' });
  await handleAgain(inbox, FAILED, orderEvent('evt_2'));
  await store(inbox, orderEvent('evt_1'), orderEvent('evt_1', { total: 7 }));
  return (...args) => runHookbox(['events', ...args], { cwd });
}

it('pause, resume and what lies between: who and why is told, and what waits', async () => {
  const events = await stocked();
  expect(await events('pause')).toEqual({ code: 0, stdout: '', stderr: 'No type is paused.\n' });
  expect(await events('resume', 'order.created')).toMatchObject({ code: 4, stdout: '' });
  const paused = await events('pause', 'order.created', ...BY);
  expect(paused).toMatchObject({ code: 0 });
  expect(paused.stdout).toMatch(/^order\.created was paused by ada at .* UTC: the till is down\.\n$/);
  expect(paused.stderr).toContain('hookbox events resume order.created');
  expect((await events('pause', 'order.created')).stderr).toContain('The type was already paused. Nothing changed.');
  expect(JSON.parse((await events('pause', '--json')).stdout)).toMatchObject({ type: 'order.created', waiting: 1 });
  expect((await events('show', 'evt_1')).stdout).toContain('is waiting; order.created was paused');
  const rerun = await events('rerun', 'evt_2');
  expect(rerun.stderr).toMatch(
    /order\.created was paused .*: the till is down\. 1 event is waiting until you resume the type\./,
  );
  const resumed = await events('resume', 'order.created', '--actor', 'ada');
  expect(resumed.stdout).toMatch(/^Resumed: order\.created, paused (now|\d+ s ago) by ada\.\n$/);
  expect(resumed.stderr).toContain('1 event is waiting; a processor');
});

it('a type that nobody has seen is not paused, unless that is said', async () => {
  const events = await stocked();
  const mistyped = await events('pause', 'order.craeted');
  expect(mistyped).toMatchObject({ code: 2, stdout: '' });
  expect(mistyped.stderr).toContain('Unknown type "order.craeted": no processor handles it, and no event has it.');
  expect(mistyped.stderr).toContain('Did you mean order.created?');
  expect(mistyped.stderr).toContain('--unseen');
  expect((await events('pause')).stderr).toBe('No type is paused.\n');
  expect((await events('pause', 'loyalty.earned', '--unseen')).stdout).toContain('loyalty.earned was paused by');
});

it('a pause at an endpoint that no processor names says so: what was meant goes on', async () => {
  const cwd = scratchFolder();
  const file = join(cwd, 'hookbox.db');
  const announced = async (endpoints: Scope['endpoints']) => {
    await using inbox = sqliteInbox(file);
    await inbox.announce({ endpoints, types: ['order.created'] }, Date.now(), null);
  };
  const told = async (...args: readonly string[]) =>
    (await runHookbox(['events', 'pause', 'order.created', ...args], { cwd })).stderr;
  await announced(['test']);
  await announced(['live']);
  expect(await told()).toContain(
    'No running processor handles events of the endpoint default. Running processors handle live and test.\n',
  );
  expect(await told('--endpoint', 'live')).not.toMatch(/No (?:running )?processor/);
  await announced('*');
  expect(await told('--endpoint', 'liv')).not.toMatch(/No (?:running )?processor/);
});

it('a bulk by its number says what became of its events, and how to list the dead ones', async () => {
  const events = await stocked();
  const { code, stdout, stderr } = await events('bulks', '1');
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'To list the dead events: hookbox events list --bulk 1 --state dead\n',
  });
  expect(stdout).toContain('Of 2 events rerun, 1 is waiting to be handled and 1 is dead again.');
  expect(JSON.parse((await events('bulks', '1', '--json')).stdout)).toMatchObject({
    id: 1,
    outcome: { counts: { dead: 1 } },
  });
  expect((await events('list', '--bulk', '1', '--state', 'dead', '--json')).stdout.trim().split('\n')).toHaveLength(1);
  expect(await events('bulks', '2')).toMatchObject({ code: 4 });
});

it('an event says who acted on it, what its other bytes say otherwise, and since when it is due', async () => {
  const events = await stocked();
  expect((await events('show', 'evt_2')).stdout).toContain('rerun by grace in code in bulk action 1: the shop is up');
  const { stdout } = await events('show', 'evt_1');
  expect(stdout).toContain('The bodies differ in 1 place:\n  - data.total: 42.5\n  + data.total: 7\n');
  expect(stdout).toMatch(/ {2}due, but the first attempt has not started yet\n/);
  expect(JSON.parse((await events('show', 'evt_1', '--json')).stdout)).toMatchObject({
    conflict: { diff: { kind: 'changes', changes: [{ path: 'data.total', was: '42.5', is: '7' }] } },
  });
});

it.each([
  ['by its handler', { pauseUntil: 3_600_000 }, /paused by processor at .* UTC until .* UTC: /, / until 20/],
  [
    'by its breaker',
    { breaker: { limit: 1, probeMs: 3_600_000, isProbe: false } },
    /paused by breaker at .* UTC; 1 failure in a row so far, next attempt from .* UTC: Error\n/,
    / \(1 failure in a row so far\), next attempt from 20/,
  ],
])('a type that is paused %s says until when, on the command and the page', async (_, ends, words, onPage) => {
  const cwd = scratchFolder();
  const file = join(cwd, 'hookbox.db');
  await using inbox = sqliteInbox(file);
  await store(inbox, orderEvent('evt_1'));
  const now = Date.now();
  const [claimed] = await inbox.claim({ endpoints: '*', types: '*', ordered: true, leaseMs: 60_000, now }, 1);
  const { pauseUntil, ...rest } = { pauseUntil: undefined, ...ends };
  const error = { name: 'Error', message: 'the till is down', stack: null };
  const until = pauseUntil === undefined ? {} : { pauseUntil: now + pauseUntil };
  if (claimed === undefined) throw new Error('not claimed');
  await inbox.settle(claimed.lease, { outcome: 'retry', error, dueAt: now, ...rest, ...until }, now);
  expect((await runHookbox(['events', 'show', 'evt_1'], { cwd })).stdout).toMatch(words);
  const [pause] = JSON.parse(`[${(await runHookbox(['events', 'pause', '--json'], { cwd })).stdout}]`) as [
    { until: string },
  ];
  expect(new Date(pause.until).getTime()).toBeGreaterThan(now + 3_500_000);
  const page = opsPage({ inbox }, { authorize: () => ({ role: 'operator', name: 'ada' }) });
  const html = await (await page.request('http://shop.example/paused')).text();
  expect(html.replaceAll(/<[^>]*>/g, '')).toMatch(onPage);
});
