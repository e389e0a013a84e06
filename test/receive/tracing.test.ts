import { AsyncLocalStorage } from 'node:async_hooks';
import * as api from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import * as fetchAdapter from '../../adapters/fetch.ts';
import { ConfigurationError } from '../../src/errors.ts';
import { tracingBy, type OpenTelemetryApi } from '../../src/host/tracing.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const secret = 'a signing secret';
const REMOTE = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const HEADERS = { traceparent: `00-${REMOTE.traceId}-${REMOTE.spanId}-01`, tracestate: 'shop=7' };
const exporter = new InMemorySpanExporter();

class AsyncContexts implements api.ContextManager {
  readonly #storage = new AsyncLocalStorage<api.Context>();
  active = (): api.Context => this.#storage.getStore() ?? api.ROOT_CONTEXT;
  with: api.ContextManager['with'] = (context, work, self, ...given) =>
    this.#storage.run(context, () => Reflect.apply(work, self, given));
  bind = <T>(_: api.Context, target: T): T => target;
  enable = (): this => this;
  disable = (): this => this;
}

const w3c: api.TextMapPropagator = {
  fields: () => ['traceparent', 'tracestate'],
  inject() {},
  extract(context, carrier, getter) {
    const [, traceId, spanId] = /^00-(\w{32})-(\w{16})-01$/.exec(String(getter.get(carrier, 'traceparent'))) ?? [];
    if (traceId === undefined || spanId === undefined) return context;
    const traceState = api.createTraceState(String(getter.get(carrier, 'tracestate')));
    return api.trace.setSpanContext(context, { traceId, spanId, traceFlags: 1, isRemote: true, traceState });
  },
};

beforeAll(() => {
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  api.context.setGlobalContextManager(new AsyncContexts());
  api.propagation.setGlobalPropagator(w3c);
});
afterAll(() => {
  api.trace.disable();
  api.context.disable();
  api.propagation.disable();
});
beforeEach(() => exporter.reset());

const event = (id: string) => ({
  id,
  type: 'order.created',
  created: '2026-01-01T00:00:00Z',
  data: { note: 'for Ada' },
});

function delivery(id: string, headers: Readonly<Record<string, string>> = HEADERS) {
  const body = Buffer.from(JSON.stringify(event(id)));
  return { body, signature: signBody(body, secret), header: (name: string) => headers[name] };
}

function receiving(options: Partial<ReceiverOptions> = {}) {
  const receiver = createReceiver({ secret, inbox: memoryInbox(), logger: false, openTelemetry: api, ...options });
  onTestFinished(() => receiver.close());
  return receiver;
}

async function handled(
  inbox: Inbox,
  id: string,
  options: Pick<ProcessorOptions, 'handlers'> & Partial<ProcessorOptions>,
) {
  const processor = createProcessor({ inbox, logger: false, openTelemetry: api, ...options });
  await processor.start();
  await expect.poll(() => spans().some(({ name }) => name.startsWith('handle'))).toBe(true);
  await processor.close();
  expect((await inbox.get({ endpoint: 'default', id }))?.state).not.toBe('processing');
}

const spans = (): readonly ReadableSpan[] => exporter.getFinishedSpans();
const named = (name: string): ReadableSpan => {
  const span = spans().find((each) => each.name === name);
  if (span === undefined)
    throw new Error(
      `no span ${name} among ${spans()
        .map((each) => each.name)
        .join(', ')}`,
    );
  return span;
};

describe('spans', () => {
  it.each<[string, () => Inbox]>([
    ['in memory', memoryInbox],
    ['in a file that a thread writes', () => sqliteInbox(scratchFile())],
  ])('of a delivery and its handler are linked over an inbox %s', async (_, open) => {
    await using inbox = open();
    expect((await receiving({ inbox }).receive(delivery('evt_1'))).kind).toBe('stored');
    await handled(inbox, 'evt_1', {
      handlers: { '*': () => api.trace.getTracer('shop').startSpan('charge').end() },
    });

    const [receive, handle, charge] = [named('receive default'), named('handle default'), named('charge')];
    expect(receive).toMatchObject({ kind: api.SpanKind.PRODUCER, status: { code: 0 } });
    expect([receive.spanContext().traceId, receive.parentSpanContext?.spanId]).toEqual([REMOTE.traceId, REMOTE.spanId]);
    const messaging = {
      'messaging.system': 'hookbox',
      'messaging.destination.name': 'default',
      'messaging.message.id': 'evt_1',
    };
    expect(receive.attributes).toEqual({
      ...messaging,
      'messaging.operation.name': 'receive',
      'messaging.operation.type': 'send',
      'hookbox.outcome': 'stored',
    });
    expect(handle).toMatchObject({ kind: api.SpanKind.CONSUMER, status: { code: 0 } });
    expect(handle.attributes).toEqual({
      ...messaging,
      'messaging.operation.name': 'handle',
      'messaging.operation.type': 'process',
      'hookbox.event.type': 'order.created',
      'hookbox.attempt': 1,
      'hookbox.outcome': 'processed',
    });
    // It may run hours later.
    expect(handle.parentSpanContext).toBeUndefined();
    expect(handle.spanContext().traceId).not.toBe(REMOTE.traceId);
    const [link] = handle.links;
    expect(link?.context).toMatchObject({
      traceId: REMOTE.traceId,
      spanId: receive.spanContext().spanId,
      isRemote: true,
    });
    expect(link?.context.traceState?.serialize()).toBe('shop=7');
    expect(charge.parentSpanContext?.spanId).toBe(handle.spanContext().spanId);
    expect(JSON.stringify(spans().map(({ attributes, events }) => [attributes, events]))).not.toContain('Ada');
  });

  it('belong to the request that is under way, where something else traces it', async () => {
    const request = api.trace.getTracer('http').startSpan('POST /webhooks');
    const context = api.trace.setSpan(api.context.active(), request);
    await api.context.with(context, () => receiving().receive(delivery('evt_1')));
    expect(named('receive default').parentSpanContext?.spanId).toBe(request.spanContext().spanId);
  });

  it('read the headers that an adapter hands in', async () => {
    const handler = fetchAdapter.webhookHandler(receiving());
    const { body, signature } = delivery('evt_1');
    const headers = { 'X-Signature': signature, ...HEADERS };
    expect((await handler(new Request('http://shop.test/', { method: 'POST', body, headers }))).status).toBe(200);
    expect(named('receive default').spanContext().traceId).toBe(REMOTE.traceId);
  });

  it('say what kind of error a handler threw, and its message unless logErrors is false', async () => {
    for (const logErrors of [true, false]) {
      exporter.reset();
      const inbox = memoryInbox();
      await receiving({ inbox }).receive(delivery('evt_1'));
      await handled(inbox, 'evt_1', { logErrors, handlers: { '*': () => Promise.reject(new TypeError('no Ada')) } });
      const { status, attributes } = named('handle default');
      expect(attributes).toMatchObject({ 'error.type': 'TypeError', 'hookbox.outcome': 'retry' });
      expect(status).toEqual(logErrors ? { code: 2, message: 'no Ada' } : { code: 2 });
    }
  });

  it('tell a refused delivery from an inbox that fails', async () => {
    const inbox = memoryInbox();
    const receiver = receiving({ inbox });
    expect((await receiver.receive({ ...delivery('evt_1'), signature: '0'.repeat(64) })).status).toBe(401);
    await inbox.close();
    expect((await receiver.receive(delivery('evt_1'))).status).toBe(503);
    expect(spans().map(({ attributes, status }) => [attributes['error.type'], status.code])).toEqual([
      ['INVALID_SIGNATURE', 0],
      ['UNAVAILABLE', 2],
    ]);
  });

  it('of a handler that runs before the answer is inside that of its delivery, and linked all the same', async () => {
    await receiving({ processing: { mode: 'inline' }, handlers: { '*': () => {} } }).receive(delivery('evt_1'));
    const [receive, handle] = [named('receive default'), named('handle default')];
    expect(handle.parentSpanContext?.spanId).toBe(receive.spanContext().spanId);
    expect(handle.links).toMatchObject([{ context: { spanId: receive.spanContext().spanId } }]);
  });

  it('are none without the API, and nothing is stored', async () => {
    const inbox = memoryInbox();
    const receiver = createReceiver({ secret, inbox, logger: false });
    await receiver.receive(delivery('evt_1'));
    const [claimed] = await inbox.claim(
      { endpoints: '*', types: '*', now: Date.now(), leaseMs: 1_000, ordered: true },
      1,
    );
    expect(claimed).not.toHaveProperty('trace');
    expect(spans()).toEqual([]);
  });
});

describe('a tracer', () => {
  it('that fails changes nothing', () => {
    const fails = (): never => {
      throw new Error('exporter');
    };
    const broken = { ...api, trace: { ...api.trace, getTracer: () => ({ startSpan: fails }), getSpan: fails } };
    const span = tracingBy(broken)?.receive('default', () => null);
    expect([span?.trace, span?.run(() => 7)]).toEqual([null, 7]);
    span?.end({ outcome: 'stored' });
  });

  it('is given what work throws and not called twice by it', () => {
    let runs = 0;
    const span = tracingBy(api)?.receive('default', undefined);
    const work = () => {
      runs += 1;
      throw new RangeError('of the work');
    };
    expect(() => span?.run(work)).toThrow(RangeError);
    expect(runs).toBe(1);
  });

  it('that is none is refused', () => {
    expect(() => receiving({ openTelemetry: {} as OpenTelemetryApi })).toThrow(ConfigurationError);
  });
});
