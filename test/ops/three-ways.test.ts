import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { backup } from '../../src/ops/index.ts';
import { stockedInbox } from '../cli/stocked-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { ownFolder, scratchFolder } from '../helpers/scratch-folder.ts';
import {
  by,
  exportOfAnother,
  threeWays,
  WHO,
  withoutPlaces,
  type Stocked,
  type Way,
} from './three-ways.conformance.ts';

let stocked: string;
let moreLines: readonly string[];
beforeAll(async () => {
  const folder = ownFolder();
  stocked = join(folder.path, 'hookbox.db');
  await stockedInbox(stocked);
  await using inbox = sqliteInbox(stocked);
  moreLines = await exportOfAnother(inbox);
  // Its own export is not to stand in the audits that are compared.
  const database = new Database(stocked);
  database.exec('DELETE FROM hookbox_audit');
  database.close();
  return () => folder[Symbol.dispose]();
});

async function ownCopy(before: Way['before']): Promise<Stocked> {
  const folder = scratchFolder();
  const file = join(folder, 'hookbox.db');
  copyFileSync(stocked, file);
  const inbox = sqliteInbox(file);
  onTestFinished(() => inbox.close());
  await before?.(inbox);
  return { inbox, folder, named: { args: [], options: { cwd: folder } }, leftBehind: async () => leftBehind(file) };
}

function leftBehind(file: string): unknown {
  const database = new Database(file, { readonly: true });
  onTestFinished(() => void database.close());
  const all = (sql: string): unknown[] => database.prepare(sql).all();
  return {
    events: all(`
      SELECT seq, endpoint, id, type, entity, verified, state, dead_reason, parked, attempts, failures, crashes, trigger,
        fingerprint, erased_ms IS NULL AS kept, hex(body) AS body
      FROM hookbox_events ORDER BY seq`),
    attempts: all('SELECT seq, number, trigger, outcome, error_name, error_message, error_stack FROM hookbox_attempts'),
    conflicts: all('SELECT seq, count, hex(body) AS body FROM hookbox_conflicts'),
    marks: all('SELECT * FROM hookbox_entities ORDER BY 1, 2'),
    bulks: all(
      'SELECT id, act, state, force, filter, actor, reason, total, breakdown, worked, counts FROM hookbox_bulks',
    ),
    acts: all('SELECT seq, audit FROM hookbox_event_acts ORDER BY 1, 2'),
    pauses: all('SELECT endpoint, type, actor, reason FROM hookbox_pauses'),
    acknowledged: all('SELECT print, actor, reason, link, count FROM hookbox_acknowledged'),
    results: all('SELECT * FROM hookbox_bulk_events ORDER BY 1, 2'),
    audit: all('SELECT act, actor, reason, filter, counts FROM hookbox_audit ORDER BY seq').map((line) => {
      const { filter, ...rest } = line as { filter: string };
      return { ...rest, filter: withoutPlaces(JSON.parse(filter)) };
    }),
  };
}

threeWays(ownCopy, () => moreLines, {
  backup: {
    code: (inbox, folder) => backup(inbox, join(folder, 'inbox.db'), by),
    cli: ['backup', 'inbox.db', ...WHO],
    page: async (page) => (await page.post('/maintenance/backup', { reason: by.reason })).arrayBuffer(),
  },
});

it('every verb of hookbox/ops that changes something is among these', () => {
  const index = readFileSync(new URL('../../src/ops/index.ts', import.meta.url), 'utf8');
  const here = ['three-ways.conformance.ts', 'three-ways.test.ts']
    .map((name) => readFileSync(new URL(name, import.meta.url), 'utf8'))
    .join('');
  const looking = [
    'listEvents',
    'getEvent',
    'countEvents',
    'findEvents',
    'whyWaiting',
    'deadGroups',
    'retryGroups',
    'getBulk',
    'listBulks',
    'bulkOutcome',
    'bulkEvents',
    'pausedTypes',
    'stats',
    'rejectedDeliveries',
  ];
  const others = new Set(['auditLines', 'readiness', 'metrics', 'databaseFaults', ...looking]);
  const names = [...index.matchAll(/^export \{([^}]*)\}/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((name) => name.trim())
    .filter((name) => /^[a-z]\w+$/.test(name) && !others.has(name));
  expect(names.length).toBeGreaterThan(8);
  expect(names.filter((name) => !here.includes(`${name}(inbox`))).toEqual([]);
});
