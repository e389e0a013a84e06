import * as fc from 'fast-check';
import { AggregatorRegistry } from 'prom-client';
import { expect, it } from 'vitest';
import { exposition, EXPOSITION_TYPE, type Family, type Sample } from '../../src/ops/metrics.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { testMetrics } from './metrics.conformance.ts';

testMetrics('metrics in SQLite', async () => {
  const { inbox, file } = inboxOnFile();
  return { inbox, another: async () => inboxOnFile(file).inbox };
});

const value = fc.oneof(fc.nat(), fc.double({ noNaN: true, min: 0, max: 1e12 }));
const labels = fc.dictionary(
  fc.constantFrom('type', 'state', 'le'),
  fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('"', '\\', '\n', 'ä') }), fc.nat()),
  { noNullPrototype: true },
);
const sample: fc.Arbitrary<Sample> = fc.oneof(
  fc.record({ value, labels }),
  fc.record({ value, labels, metricName: fc.constantFrom('a_bucket', 'a_sum', 'a_count') }),
);
const family = (name: string): fc.Arbitrary<Family> =>
  fc.record({
    name: fc.constant(name),
    help: fc.string({ minLength: 1 }),
    type: fc.constantFrom('counter', 'gauge', 'histogram'),
    values: fc.array(sample, { minLength: 1 }),
  });

it('is written as prom-client writes it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(family('first'), family('second')), async (families) => {
      const registry = AggregatorRegistry.aggregate([families.map((each) => ({ ...each, aggregator: 'sum' }))]);
      expect(exposition(families)).toBe(await registry.metrics());
      expect(EXPOSITION_TYPE).toBe(registry.contentType);
    }),
  );
});
