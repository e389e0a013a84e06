import * as api from '@opentelemetry/api';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider } from '@opentelemetry/sdk-metrics';
import { PeriodicExportingMetricReader, type MetricData } from '@opentelemetry/sdk-metrics';
import { expect, it, onTestFinished } from 'vitest';
import type { OpenTelemetryApi } from '../../src/host/tracing.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Handlers } from '../../src/processing/handlers.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { orderEvents, store } from '../helpers/order-event.ts';

const secret = 'a signing secret';

function delivery(id: string, type = 'order.created') {
  const body = Buffer.from(JSON.stringify({ id, type, created: '2026-01-01T00:00:00Z', data: {} }));
  return { body, signature: signBody(body, secret) };
}

function receiving(options: Partial<ReceiverOptions>) {
  const inline = { mode: 'inline' } as const;
  const receiver = createReceiver({ secret, inbox: memoryInbox(), logger: false, processing: inline, ...options });
  onTestFinished(() => receiver.close());
  return receiver;
}

/** An SDK that exports when the test asks, and its points by metric. */
function metering() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => {
    api.metrics.disable();
    return provider.shutdown();
  });
  return {
    register: () => api.metrics.setGlobalMeterProvider(provider),
    async read(): Promise<ReadonlyMap<string, MetricData>> {
      await reader.forceFlush();
      const all =
        exporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
      return new Map(all.map((metric) => [metric.descriptor.name, metric]));
    },
  };
}

const points = (metric: MetricData | undefined) =>
  (metric?.dataPoints ?? []).map(({ attributes, value }) => {
    const { 'messaging.destination.name': endpoint, 'hookbox.outcome': outcome } = attributes;
    const of = { endpoint, outcome, type: attributes['hookbox.event.type'], error: attributes['error.type'] };
    return { ...of, count: typeof value === 'object' ? value.count : value };
  });

it('deliveries and attempts are counted and timed, also by an SDK that is registered later', async () => {
  const handlers = {
    '*': ({ id }: { readonly id: string }) => {
      if (id === 'evt_2') throw new RangeError('no');
    },
  };
  const receiver = receiving({ endpoint: 'shop-a', handlers, openTelemetry: api });
  await receiver.receive(delivery('evt_0')); // no SDK yet
  const sdk = metering();
  sdk.register();
  await receiver.receive(delivery('evt_1'));
  await receiver.receive(delivery('evt_2'));
  await receiver.receive(delivery('evt_3', 'loyalty.earned'));
  await receiver.receive(delivery('evt_1'));
  await receiver.receive({ ...delivery('evt_4'), signature: 'f'.repeat(64) });

  const metrics = await sdk.read();
  expect([...metrics.keys()].toSorted()).toEqual([
    'messaging.client.consumed.messages',
    'messaging.client.operation.duration',
    'messaging.client.sent.messages',
    'messaging.process.duration',
  ]);
  const handled = { endpoint: 'shop-a', outcome: 'processed', type: 'order.created', error: undefined, count: 1 };
  const attempts = [handled, { ...handled, outcome: 'retry', error: 'RangeError' }, { ...handled, type: '_OTHER' }];
  expect(points(metrics.get('messaging.process.duration'))).toEqual(attempts);
  expect(points(metrics.get('messaging.client.consumed.messages'))).toEqual(attempts);
  const deliveries = points(metrics.get('messaging.client.sent.messages'));
  expect(deliveries.map(({ outcome, error, count }) => [outcome, error, count])).toEqual([
    ['processed', undefined, 2],
    ['failed', 'HANDLER_FAILED', 1],
    ['duplicate', undefined, 1],
    ['rejected', 'INVALID_SIGNATURE', 1],
  ]);
  const { descriptor } = metrics.get('messaging.client.operation.duration') ?? {};
  expect(descriptor).toMatchObject({ unit: 's', advice: { explicitBucketBoundaries: expect.any(Array) } });
  expect(deliveries).toEqual(points(metrics.get('messaging.client.operation.duration')));
});

it('superseded events are counted, but not timed', async () => {
  const sdk = metering();
  sdk.register();
  const inbox = memoryInbox();
  await store(inbox, ...orderEvents(3, (n) => ({ order: 'o', createdAt: n })));
  const handlers: Handlers = { 'order.created': { handle: () => {}, latest: true } };
  await using processor = createProcessor({ inbox, handlers, logger: false, openTelemetry: api });
  await processor.start();
  await expect.poll(async () => (await inbox.list()).every(({ state }) => state === 'processed')).toBe(true);
  const metrics = await sdk.read();
  const processed = { endpoint: 'default', outcome: 'processed', type: 'order.created', error: undefined, count: 1 };
  expect(points(metrics.get('messaging.client.consumed.messages'))).toEqual([
    { ...processed, outcome: 'superseded', count: 2 },
    processed,
  ]);
  expect(points(metrics.get('messaging.process.duration'))).toEqual([processed]);
});

it.each<[string, Partial<typeof api>]>([
  [
    'throws',
    {
      metrics: {
        getMeter: () => {
          throw new Error('no meter');
        },
      } as unknown as api.MetricsAPI,
    },
  ],
  ['is missing, as before version 1.3 of the API', { metrics: undefined as never }],
])('a metrics API that %s fails no delivery', async (_, broken) => {
  const openTelemetry = { ...api, ...broken } as OpenTelemetryApi;
  const receiver = receiving({ handlers: { '*': () => {} }, openTelemetry });
  expect((await receiver.receive(delivery('evt_1'))).kind).toBe('processed');
});
