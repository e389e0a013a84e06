import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ImportCounts, ImportRecord } from '../../../src/inbox/operator/transfer.ts';
import { type StoredBody, hashOf, UNKNOWN_HASH } from '../../../src/inbox/rules/accept.ts';
import { planImport } from '../../../src/inbox/rules/import-events.ts';

type Exported = Extract<ImportRecord, { readonly event: unknown }>['event'];

const BODY = Buffer.from('{"id":"evt"}');
const OTHER = Buffer.from('{"id":"evt" }');
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
  const known = here === undefined ? [] : [{ endpoint: 'default', id: 'evt', ...here }];
  const isNew = outcome === 'imported';
  expect(planImport([recordOf(imported, true)], known)).toEqual({
    counts,
    events: isNew ? [imported] : [],
    marks: isNew ? [{ endpoint: 'default', entity: 'order', created: event.created }] : [],
  });
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
])('the newest processed event of an entity is raised by %s', (_, given, raised) => {
  expect(planImport([given], []).marks).toEqual(raised);
});

it('an event of another endpoint is another event', () => {
  const known = [{ endpoint: 'shop-b', id: 'evt', body: BODY, hash: null }];
  expect(planImport([recordOf(event)], known).counts).toEqual({ imported: 1, known: 0, different: 0 });
});

it('of any records each key is imported once, and what is imported again is known', () => {
  const someEvent = fc
    .record({
      id: fc.constantFrom('a', 'b', 'c'),
      endpoint: fc.constantFrom('default', 'shop-b'),
      body: fc.constantFrom(BODY, OTHER),
    })
    .map((parts) => recordOf({ ...event, ...parts }));
  const keyOf = ({ endpoint, id }: Exported) => `${endpoint} ${id}`;
  fc.assert(
    fc.property(fc.array(someEvent), fc.array(someEvent), (first, second) => {
      const { events } = planImport(first, []);
      const known = events.map(({ endpoint, id, body }) => ({ endpoint, id, body, hash: null }));
      const { events: more, counts } = planImport(second, known);
      const keys = [...events, ...more].map(keyOf);
      expect(new Set(keys).size).toBe(keys.length);
      expect(counts.imported).toBe(more.length);
      expect(counts.imported + counts.known + counts.different).toBe(second.length);
      expect(planImport(first, known).counts.imported).toBe(0);
      expect(planImport([...first, ...second], []).events).toEqual([...events, ...more]);
    }),
  );
});
