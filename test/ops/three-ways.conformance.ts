/** Each act of an operator by the typed function, the command line and the page: the same result, the same audit. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Hono } from 'hono';
import { afterAll, describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import {
  acknowledgeGroup,
  cancelBulk,
  discardEvents,
  eraseEntity,
  exportEvents,
  exportReadable,
  getBulk,
  importEvents,
  importHandled,
  pauseBulk,
  pauseType,
  previewBulk,
  pruneEvents,
  reopenGroup,
  replayEvent,
  rerunEvents,
  resumeType,
  retryEventsNow,
  runBulk,
  type Act,
} from '../../src/ops/index.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import { opsPage } from '../../src/page/operators-page.tsx';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { runHookbox, type RunOptions } from '../cli/run-hookbox.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';
import { SECRET } from '../helpers/signed-event.ts';
import { failure, handled, key } from './events-in-states.ts';
import { tokenIn } from './page/opened-page.ts';

export const by = { actor: 'ada', reason: 'because' };
export const WHO = ['--actor', by.actor, '--reason', by.reason];
const ORIGIN = 'http://shop.example';
const scratch = ownFolder();

const SECRET_FILE = join(scratch.path, 'secret');
writeFileSync(SECRET_FILE, SECRET);
const receiver = createServer((_, answer) => answer.end('{}')).listen(0, '127.0.0.1');
await once(receiver, 'listening');
afterAll(() => {
  receiver.close();
  scratch[Symbol.dispose]();
});
const RECEIVER = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks`;

export interface Way {
  readonly before?: (inbox: Inbox) => Promise<unknown>;
  readonly code: (inbox: Inbox, folder: string, moreLines: readonly string[]) => Promise<unknown>;
  readonly cli: readonly string[];
  readonly page?: (page: Page, inbox: Inbox, moreLines: readonly string[]) => Promise<unknown>;
}

interface Page {
  post(path: string, fields: Readonly<Record<string, string | readonly string[] | File>>): Promise<Response>;
  get(path: string): Promise<Response>;
}

const EVENT = key('evt_dead_1');
const DONE = key('evt_done');
const filter = { states: ['dead' as const], error: 'shop is down' };
const GROUP = fingerprintOf(failure);
const RUNBOOK = 'https://wiki.example/down';
const FOUND = ['--state', 'dead', '--error', 'shop is down'];
const HANDLED = [DONE.id, 'evt_other_1', 'evt_other_2'];
const MONTH_MS = 30 * 86_400_000;

/** One that is next attempt in an hour, whenever the test runs. */
const LATER = key('evt_later');
const retryLater = (inbox: Inbox): Promise<void> =>
  handled(inbox, { outcome: 'retry', error: failure, dueAt: Date.now() + 3_600_000 }, orderEvent(LATER.id));

async function halfDone(inbox: Inbox): Promise<void> {
  const grace = { actor: 'grace' };
  const { id } = await previewBulk(inbox, 'rerun', {}, grace);
  await operationsOf(inbox).advanceBulk(id, 1, grace, {});
}

const bulk = (act: Act): Way => ({
  async code(inbox) {
    const { id } = await previewBulk(inbox, act, filter, by);
    await runBulk(inbox, id, by);
  },
  cli: [act, ...FOUND, '--yes', ...WHO],
  async page(page, inbox) {
    await page.post('/bulks', { act, state: 'dead', error: 'shop is down' });
    await page.post('/bulks/1/run', { rate: '500' });
    await expect.poll(async () => (await getBulk(inbox, 1))?.state).toBe('done');
  },
});

const ways: Readonly<Record<string, Way>> = {
  'rerun of one': {
    code: (inbox) => rerunEvents(inbox, [EVENT], by),
    cli: ['rerun', EVENT.id, ...WHO],
    page: (page) => page.post(`/events/default/${EVENT.id}/rerun`, {}),
  },
  'forced rerun of one': {
    code: (inbox) => rerunEvents(inbox, [DONE], by, { force: true }),
    cli: ['rerun', DONE.id, '--force', ...WHO],
    page: (page) => page.post(`/events/default/${DONE.id}/rerun`, { force: 'yes' }),
  },
  'discard of one': {
    code: (inbox) => discardEvents(inbox, [EVENT], by),
    cli: ['discard', EVENT.id, ...WHO],
    page: (page) => page.post(`/events/default/${EVENT.id}/discard`, {}),
  },
  'retry now of one': {
    before: retryLater,
    code: (inbox) => retryEventsNow(inbox, [LATER], by),
    cli: ['retry-now', LATER.id, ...WHO],
    page: (page) => page.post(`/events/default/${LATER.id}/retry-now`, {}),
  },
  'retry now of what a filter finds': {
    before: retryLater,
    async code(inbox) {
      const { id } = await previewBulk(inbox, 'retry-now', { retrying: true }, by);
      await runBulk(inbox, id, by);
    },
    cli: ['retry-now', '--retrying', '--yes', ...WHO],
    async page(page, inbox) {
      await page.post('/bulks', { act: 'retry-now', retrying: 'yes' });
      await page.post('/bulks/1/run', { rate: '500' });
      await expect.poll(async () => (await getBulk(inbox, 1))?.state).toBe('done');
    },
  },
  'rerun of what a filter finds': bulk('rerun'),
  'discard of what a filter finds': bulk('discard'),
  'cancel of a bulk rerun': {
    before: (inbox) => previewBulk(inbox, 'rerun', filter, { actor: 'grace' }),
    code: (inbox) => cancelBulk(inbox, 1, by),
    cli: ['rerun', '--cancel', '1', ...WHO],
    page: (page) => page.post('/bulks/1/cancel', {}),
  },
  'pause of a bulk rerun': {
    before: halfDone,
    code: (inbox) => pauseBulk(inbox, 1, by),
    cli: ['rerun', '--pause', '1', ...WHO],
    page: (page) => page.post('/bulks/1/pause', {}),
  },
  prune: {
    code: (inbox) =>
      pruneEvents(inbox, { settledBefore: new Date(Date.now() - MONTH_MS), states: ['processed', 'dead'] }, by),
    cli: ['prune', '--older-than', '30d', '--state', 'processed', '--state', 'dead', '--yes', ...WHO],
    page: (page) =>
      page.post('/maintenance/prune', {
        olderThanDays: '30',
        states: ['processed', 'dead'],
        confirm: '100',
        typed: '100',
      }),
  },
  erase: {
    code: (inbox) => eraseEntity(inbox, 'ord_42', by),
    cli: ['erase', 'ord_42', '--yes', ...WHO],
    page: (page) => page.post('/maintenance/erase', { entity: 'ord_42', confirm: '100', typed: 'ord_42' }),
  },
  'pause of a type': {
    code: (inbox) => pauseType(inbox, 'order.created', by),
    cli: ['pause', 'order.created', ...WHO],
    page: (page) => page.post('/paused/pause', { type: 'order.created', endpoint: 'default' }),
  },
  'resume of a type': {
    before: (inbox) => pauseType(inbox, 'order.created', { actor: 'grace' }),
    code: (inbox) => resumeType(inbox, 'order.created', by),
    cli: ['resume', 'order.created', ...WHO],
    page: (page) => page.post('/paused/resume', { type: 'order.created', endpoint: 'default' }),
  },
  'replay of one': {
    code: (inbox) => replayEvent(inbox, EVENT, by, { to: RECEIVER, secret: SECRET }),
    cli: ['replay', EVENT.id, '--to', RECEIVER, '--secret-file', SECRET_FILE, ...WHO],
    page: (page) => page.post(`/events/default/${EVENT.id}/replay`, { to: RECEIVER }),
  },
  'acknowledgement of a group': {
    code: (inbox) => acknowledgeGroup(inbox, GROUP, by, { link: RUNBOOK }),
    cli: ['acknowledge', GROUP, '--link', RUNBOOK, ...WHO],
    page: (page) => page.post('/dead/acknowledge', { fingerprint: GROUP, link: RUNBOOK, count: '9' }),
  },
  'reopening of a group': {
    before: (inbox) => acknowledgeGroup(inbox, GROUP, { actor: 'grace' }),
    code: (inbox) => reopenGroup(inbox, GROUP, by),
    cli: ['reopen', GROUP, ...WHO],
    page: (page) => page.post('/dead/reopen', { fingerprint: GROUP }),
  },
  'export for people': {
    async code(inbox) {
      for await (const line of exportReadable(inbox, 'csv', { actor: by.actor })) expect(line).toContain(',');
    },
    cli: ['export', '--format', 'csv', '--out', 'out', '--actor', by.actor],
    page: async (page) => (await page.get('/maintenance/export?format=csv')).text(),
  },
  export: {
    // A link asks for no reason.
    code: async (inbox, folder) => writeFileSync(join(folder, 'out'), await exported(inbox)),
    cli: ['export', '--out', 'out', '--actor', by.actor],
    page: async (page) => (await page.get('/maintenance/export')).text(),
  },
  import: {
    code: (inbox, _, moreLines) => importEvents(inbox, moreLines, by, { trusted: true }),
    cli: ['import', 'more.ndjson', '--trusted', ...WHO],
    page: (page, _, moreLines) =>
      page.post('/maintenance/import', {
        trusted: 'yes',
        file: new File([`${moreLines.join('\n')}\n`], 'more.ndjson'),
      }),
  },
  'import of handled ids': {
    code: (inbox) => importHandled(inbox, HANDLED, by),
    cli: ['import', '--handled', 'handled.txt', ...WHO],
  },
};

export interface Stocked {
  readonly inbox: Inbox;
  readonly folder: string;
  readonly named: { readonly args: readonly string[]; readonly options: RunOptions };
  /** Everything an act can change, but for the times at which it happened. */
  leftBehind(): Promise<unknown>;
}

export async function exported(inbox: Inbox): Promise<string> {
  let text = '';
  for await (const line of exportEvents(inbox, { actor: by.actor })) text += `${line}\n`;
  return text;
}

/** The same events of other endpoints: what a second shop has exported. */
export async function exportOfAnother(inbox: Inbox): Promise<readonly string[]> {
  return (await exported(inbox)).replaceAll('"endpoint":"', '"endpoint":"more-').trimEnd().split('\n');
}

function pageOf(inbox: Inbox): Page {
  const app = new Hono().route(
    '/ops',
    opsPage(
      { inbox },
      { authorize: () => ({ name: by.actor, role: 'operator' as const }), replay: { secret: SECRET } },
    ),
  );
  const get: Page['get'] = async (path) => app.request(`${ORIGIN}/ops${path}`);
  return {
    get,
    async post(path, fields) {
      const body = new FormData();
      for (const [name, values] of Object.entries(fields)) {
        for (const value of [values].flat()) body.append(name, value);
      }
      body.set('reason', by.reason);
      body.set('csrf', tokenIn(await (await get('/maintenance')).text()));
      const answer = await app.request(`${ORIGIN}/ops${path}`, { method: 'POST', headers: { origin: ORIGIN }, body });
      expect(answer.status, await answer.clone().text()).toBeLessThan(400);
      return answer;
    },
  };
}

/** Where it came from or went to, and when a prune was asked for, is each way's own. */
export function withoutPlaces(filter: unknown): unknown {
  const { settledBefore: _, file: __, from: ___, ...kept } = filter as Record<string, unknown>;
  return kept;
}

export function threeWays(
  stock: (before: Way['before']) => Promise<Stocked>,
  moreLines: () => readonly string[],
  others: Readonly<Record<string, Way>> = {},
): void {
  describe.each(Object.entries({ ...ways, ...others }))('%s', (_, { before, code, cli, page }) => {
    it('leaves the same behind by function, by command and, where it has one, by page', async () => {
      const first = await stock(before);
      const untouched = await first.leftBehind();
      await code(first.inbox, first.folder, moreLines());
      const byCode = await first.leftBehind();
      expect(byCode).not.toEqual(untouched);

      const second = await stock(before);
      writeFileSync(join(second.folder, 'more.ndjson'), `${moreLines().join('\n')}\n`);
      writeFileSync(join(second.folder, 'handled.txt'), `${HANDLED.join('\n')}\n`);
      const { args, options } = second.named;
      const { code: exit, stderr } = await runHookbox(['events', ...cli, ...args], options);
      expect(exit, stderr).toBe(0);
      expect(await second.leftBehind()).toEqual(byCode);

      if (page === undefined) return;
      const third = await stock(before);
      await page(pageOf(third.inbox), third.inbox, moreLines());
      expect(await third.leftBehind()).toEqual(byCode);
    });
  });
}
