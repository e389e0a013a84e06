/** Each act of an operator by the typed function, the command line and the page: the same result, the same audit. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Hono } from 'hono';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import {
  backup,
  cancelBulk,
  discardEvents,
  eraseEntity,
  exportEvents,
  getBulk,
  importEvents,
  previewBulk,
  pruneEvents,
  rerunEvents,
  runBulk,
  type Act,
} from '../../src/ops/index.ts';
import { opsPage } from '../../src/page/operators-page.tsx';
import { runHookbox } from '../cli/run-hookbox.ts';
import { stockedInbox } from '../cli/stocked-inbox.ts';
import { ownFolder, scratchFolder } from '../helpers/scratch-folder.ts';
import { tokenIn } from './page/opened-page.ts';

const by = { actor: 'ada', reason: 'because' };
const WHO = ['--actor', by.actor, '--reason', by.reason];
const ORIGIN = 'http://shop.example';

interface Way {
  /** what was done already, in the same way for each */
  readonly before?: (inbox: Inbox) => Promise<unknown>;
  readonly code: (inbox: Inbox, folder: string) => Promise<unknown>;
  readonly cli: readonly string[];
  readonly page: (page: Page, inbox: Inbox) => Promise<unknown>;
}

interface Page {
  post(path: string, fields: Readonly<Record<string, string | readonly string[] | File>>): Promise<Response>;
  get(path: string): Promise<Response>;
}

const EVENT = { endpoint: 'default', id: 'evt_dead_1' };
const DONE = { endpoint: 'default', id: 'evt_done' };
const filter = { states: ['dead' as const], error: 'shop is down' };
const FOUND = ['--state', 'dead', '--error', 'shop is down'];
const MONTH_MS = 30 * 86_400_000;

const bulk = (act: Act): Way => ({
  async code(inbox) {
    const { id } = await previewBulk(inbox, act, filter, by);
    await runBulk(inbox, id, by);
  },
  cli: [act, ...FOUND, '--yes', ...WHO],
  async page(page, inbox) {
    await page.post('/bulks', { act, state: 'dead', error: 'shop is down', reason: by.reason });
    await page.post('/bulks/1/run', { reason: by.reason, rate: '500' });
    await expect.poll(async () => (await getBulk(inbox, 1))?.state).toBe('done');
  },
});

const ways: Readonly<Record<string, Way>> = {
  'rerun of one': {
    code: (inbox) => rerunEvents(inbox, [EVENT], by),
    cli: ['rerun', EVENT.id, ...WHO],
    page: (page) => page.post(`/events/default/${EVENT.id}/rerun`, { reason: by.reason }),
  },
  'forced rerun of one': {
    code: (inbox) => rerunEvents(inbox, [DONE], by, { force: true }),
    cli: ['rerun', DONE.id, '--force', ...WHO],
    page: (page) => page.post(`/events/default/${DONE.id}/rerun`, { reason: by.reason, force: 'yes' }),
  },
  'discard of one': {
    code: (inbox) => discardEvents(inbox, [EVENT], by),
    cli: ['discard', EVENT.id, ...WHO],
    page: (page) => page.post(`/events/default/${EVENT.id}/discard`, { reason: by.reason }),
  },
  'rerun of what a filter finds': bulk('rerun'),
  'discard of what a filter finds': bulk('discard'),
  'cancel of a bulk rerun': {
    before: (inbox) => previewBulk(inbox, 'rerun', filter, { actor: 'grace' }),
    code: (inbox) => cancelBulk(inbox, 1, by),
    cli: ['rerun', '--cancel', '1', ...WHO],
    page: (page) => page.post('/bulks/1/cancel', { reason: by.reason }),
  },
  prune: {
    code: (inbox) =>
      pruneEvents(inbox, { settledBefore: new Date(Date.now() - MONTH_MS), states: ['processed', 'dead'] }, by),
    cli: ['prune', '--older-than', '30d', '--state', 'processed', '--state', 'dead', '--yes', ...WHO],
    page: (page) =>
      page.post('/maintenance/prune', {
        olderThanDays: '30',
        states: ['processed', 'dead'],
        reason: by.reason,
        confirm: '100',
      }),
  },
  erase: {
    code: (inbox) => eraseEntity(inbox, 'ord_42', by),
    cli: ['erase', 'ord_42', '--yes', ...WHO],
    page: (page) => page.post('/maintenance/erase', { entity: 'ord_42', reason: by.reason, confirm: '100' }),
  },
  export: {
    // A link asks for no reason.
    code: async (inbox, folder) => writeFileSync(join(folder, 'out'), await exported(inbox)),
    cli: ['export', '--out', 'out', '--actor', by.actor],
    page: async (page) => (await page.get('/maintenance/export')).text(),
  },
  import: {
    code: (inbox) => importEvents(inbox, moreLines, by, { trusted: true }),
    cli: ['import', 'more.ndjson', '--trusted', ...WHO],
    page: (page) =>
      page.post('/maintenance/import', {
        trusted: 'yes',
        reason: by.reason,
        file: new File([`${moreLines.join('\n')}\n`], 'more.ndjson'),
      }),
  },
  backup: {
    code: (inbox, folder) => backup(inbox, join(folder, 'inbox.db'), by),
    cli: ['backup', 'inbox.db', ...WHO],
    page: async (page) => (await page.post('/maintenance/backup', { reason: by.reason })).arrayBuffer(),
  },
};

let stocked: string;
let moreLines: readonly string[];
beforeAll(async () => {
  const folder = ownFolder();
  stocked = join(folder.path, 'hookbox.db');
  await stockedInbox(stocked);
  await using inbox = sqliteInbox(stocked);
  // The same events of other endpoints: what a second shop has exported.
  moreLines = (await exported(inbox)).replaceAll('"endpoint":"', '"endpoint":"more-').trimEnd().split('\n');
  // Its own export is not to stand in the audits that are compared.
  const database = new Database(stocked);
  database.exec('DELETE FROM hookbox_audit');
  database.close();
  return () => folder[Symbol.dispose]();
});

async function exported(inbox: Inbox): Promise<string> {
  let text = '';
  for await (const line of exportEvents(inbox, { actor: by.actor })) text += `${line}\n`;
  return text;
}

/** A copy of the stocked inbox, in a folder of its own. */
async function ownCopy(before: Way['before']): Promise<{ folder: string; file: string }> {
  const folder = scratchFolder();
  const file = join(folder, 'hookbox.db');
  copyFileSync(stocked, file);
  if (before !== undefined) {
    await using inbox = sqliteInbox(file);
    await before(inbox);
  }
  writeFileSync(join(folder, 'more.ndjson'), `${moreLines.join('\n')}\n`);
  return { folder, file };
}

function pageOf(inbox: Inbox): Page {
  const app = new Hono().route(
    '/ops',
    opsPage({ inbox }, { authorize: () => ({ name: by.actor, role: 'operator' as const }) }),
  );
  const get: Page['get'] = async (path) => app.request(`${ORIGIN}/ops${path}`);
  return {
    get,
    async post(path, fields) {
      const body = new FormData();
      for (const [name, values] of Object.entries(fields)) {
        for (const value of [values].flat()) body.append(name, value);
      }
      body.set('csrf', tokenIn(await (await get('/maintenance')).text()));
      const answer = await app.request(`${ORIGIN}/ops${path}`, { method: 'POST', headers: { origin: ORIGIN }, body });
      expect(answer.status, await answer.clone().text()).toBeLessThan(400);
      return answer;
    },
  };
}

/** Everything an act can change, but for the times at which it happened. */
function leftBehind(file: string): unknown {
  const database = new Database(file, { readonly: true });
  onTestFinished(() => void database.close());
  const all = (sql: string): unknown[] => database.prepare(sql).all();
  return {
    events: all(`
      SELECT seq, endpoint, id, type, entity, verified, state, dead_reason, parked, attempts, failures, crashes, trigger,
        fingerprint, erased_ms IS NULL AS kept, discarded_ms IS NULL AS wanted, hex(body) AS body
      FROM hookbox_events ORDER BY seq`),
    attempts: all('SELECT seq, number, trigger, outcome, error_name, error_message, error_stack FROM hookbox_attempts'),
    conflicts: all('SELECT seq, count, hex(body) AS body FROM hookbox_conflicts'),
    marks: all('SELECT * FROM hookbox_entities ORDER BY 1, 2'),
    bulks: all(
      'SELECT id, act, state, force, filter, actor, reason, total, breakdown, worked, counts FROM hookbox_bulks',
    ),
    results: all('SELECT * FROM hookbox_bulk_events ORDER BY 1, 2'),
    audit: all('SELECT act, actor, reason, filter, counts FROM hookbox_audit ORDER BY seq').map(withoutPlaces),
  };
}

/** Where it came from or went to, and when a prune was asked for, is each way's own. */
function withoutPlaces(line: unknown): unknown {
  const { filter: text, ...rest } = line as { filter: string };
  const { settledBefore: _, file: __, from: ___, ...kept } = JSON.parse(text) as Record<string, unknown>;
  return { ...rest, filter: kept };
}

describe.each(Object.entries(ways))('%s', (_, { before, code, cli, page }) => {
  it('leaves the same behind by function, by command and by page', async () => {
    const one = await ownCopy(before);
    const untouched = leftBehind(one.file);
    await using first = sqliteInbox(one.file);
    await code(first, one.folder);
    const byCode = leftBehind(one.file);
    expect(byCode).not.toEqual(untouched);

    const two = await ownCopy(before);
    const { code: exit, stderr } = await runHookbox(['events', ...cli], { cwd: two.folder });
    expect(exit, stderr).toBe(0);
    expect(leftBehind(two.file)).toEqual(byCode);

    const three = await ownCopy(before);
    await using third = sqliteInbox(three.file);
    await page(pageOf(third), third);
    expect(leftBehind(three.file)).toEqual(byCode);
  });
});

it('every verb of hookbox/ops that changes something is among these', () => {
  const index = readFileSync(new URL('../../src/ops/index.ts', import.meta.url), 'utf8');
  const here = readFileSync(new URL(import.meta.url), 'utf8');
  const looking = ['listEvents', 'getEvent', 'deadGroups', 'getBulk', 'listBulks', 'stats', 'rejectedDeliveries'];
  const others = new Set(['auditLines', 'readiness', 'metrics', ...looking]);
  const names = [...index.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => /^[a-z]\w+$/.test(name) && !others.has(name));
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !here.includes(`${name}(inbox`))).toEqual([]);
});
