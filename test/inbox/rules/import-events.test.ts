import { expect, it } from 'vitest';
import type { StoredBody } from '../../../src/inbox/rules/engine.ts';
import { importEvents, tryImport } from '../../../src/inbox/rules/import-events.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { hashOf, UNKNOWN_HASH } from '../../../src/inbox/rules/tombstone.ts';
import type { ImportCounts, ImportRecord } from '../../../src/inbox/operator/transfer.ts';
import { scripted } from './scripted-engine.ts';

type Exported = Extract<ImportRecord, { readonly event: unknown }>['event'];

const BODY = Buffer.from('{"id":"evt"}');
const OTHER = Buffer.from('{"id":"evt" }');
const times = { count: 2, firstMs: 1, lastMs: 5, recentMs: [1, 5] };
const event: Exported = {
  endpoint: 'default',
  id: 'evt',
  type: 'order.created',
  created: { ms: 1, ns: 0 },
  entity: 'order',
  verified: true,
  state: 'processed',
  deadReason: null,
  receivedMs: 2,
  settledMs: 3,
  dueMs: 2,
  begun: 1,
  failures: 0,
  crashes: 0,
  trigger: 'auto',
  fingerprint: null,
  erasedMs: null,
  body: BODY,
  sha256: null,
  attempts: [],
  redeliveries: null,
  conflict: null,
};
const tombstone: Exported = { ...event, body: null, sha256: hashOf(BODY) };
const mark = { entity: 'order', endpoint: 'default', created: { ms: 9, ns: 0 } };
const recordOf = (imported: Exported, raisesMark = false): ImportRecord => ({
  event: imported,
  raisesMark,
  trusted: true,
});

/** An inbox whose events get the numbers from 7 on. */
function inboxWith(known: { readonly [id: string]: StoredBody } = {}) {
  let seq = 6;
  return scripted({
    bodyOfKey: ({ id }: { id: string }) => known[id],
    importEvent: () => (seq += 1),
    auditCounts: () => ({ imported: 10 }),
  });
}

it.each<[string, StoredBody | undefined, Exported, keyof ImportCounts]>([
  ['whose key is not known', undefined, event, 'imported'],
  ['of the same bytes', { body: BODY, hash: null }, event, 'known'],
  ['of other bytes', { body: OTHER, hash: null }, event, 'different'],
  ['of which a tombstone is here', { body: null, hash: hashOf(BODY) }, event, 'known'],
  ['of which a tombstone of other bytes is here', { body: null, hash: hashOf(OTHER) }, event, 'different'],
  ['that is a tombstone, of a body that is here', { body: BODY, hash: null }, tombstone, 'known'],
  ['that is a tombstone, of another body', { body: OTHER, hash: null }, tombstone, 'different'],
  ['of an unknown body', { body: OTHER, hash: null }, { ...tombstone, sha256: UNKNOWN_HASH }, 'known'],
  ['whose body is unknown here', { body: null, hash: UNKNOWN_HASH }, event, 'known'],
  ['that is a tombstone here too', { body: null, hash: hashOf(BODY) }, tombstone, 'known'],
])('an event %s', (_, here, imported, outcome) => {
  const counts = { imported: 0, known: 0, different: 0, [outcome]: 1 };
  const { engine, of } = inboxWith(here && { evt: here });
  expect(atOnce(tryImport(engine, [recordOf(imported), { mark }]))).toEqual(counts);
  expect(of('importEvent', 'raiseHighWater', 'noteImported')).toEqual([]);

  expect(atOnce(importEvents(engine, [recordOf(imported, true)], undefined))).toEqual(counts);
  // What is here already stays as it is.
  const isNew = outcome === 'imported';
  expect(of('importEvent')).toEqual(isNew ? [['importEvent', imported]] : []);
  expect(of('raiseHighWater', 'noteImported')).toHaveLength(isNew ? 2 : 0);
  expect(of('recountAuditLine')).toEqual([]);
});

it('an event brings its history along', () => {
  const attempt = { number: 1, trigger: 'auto', outcome: 'processed', startedMs: 2, endedMs: 3, error: null } as const;
  const { engine, of } = inboxWith();
  const conflict = { ...times, body: OTHER };
  atOnce(importEvents(engine, [recordOf({ ...event, attempts: [attempt], redeliveries: times, conflict })], undefined));
  const kept = { count: 2, first: 1, last: 5, recent: [1, 5] };
  expect(of('importAttempt', 'saveRedeliveries', 'saveConflict')).toEqual([
    ['importAttempt', 7, attempt],
    ['saveRedeliveries', 7, kept],
    ['saveConflict', 7, kept, OTHER],
  ]);
});

it.each<[string, ImportRecord, readonly unknown[]]>([
  ['a mark', { mark }, [mark]],
  [
    'a processed event that says so',
    recordOf(event, true),
    [{ entity: 'order', endpoint: 'default', created: event.created }],
  ],
  ['an event that does not', recordOf(event), []],
  ['an event of no entity', recordOf({ ...event, entity: null }, true), []],
  ['an event of far ahead', recordOf({ ...event, created: { ms: 86_400_004, ns: 0 } }, true), []],
  ['an event of no time', recordOf({ ...event, created: null }, true), []],
])('the newest processed event of an entity is raised by %s', (_, record, raised) => {
  const { engine, of } = inboxWith();
  atOnce(importEvents(engine, [record], undefined));
  expect(of('raiseHighWater').map(([, what]) => what)).toEqual(raised);
});

it('a batch says once where its events have come, and is added to its line of the audit', () => {
  const { engine, of } = inboxWith({ known: { body: BODY, hash: null } });
  const records = ['a', 'known', 'b', 'c'].map((id) => recordOf({ ...event, id }));
  atOnce(importEvents(engine, records, 3));
  expect(of('noteImported')).toEqual([['noteImported', 7, 9]]);
  expect(of('recountAuditLine')).toEqual([['recountAuditLine', 3, { imported: 13, known: 1, different: 0 }]]);
});
