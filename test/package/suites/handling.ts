import * as api from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { pino } from 'pino';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Handlers, ReceiverOptions } from '../../../src/index.ts';
import { imported, type Modules } from '../imported.ts';
import type { Installed } from '../installed.ts';

const secret = 'a signing secret';

/** What happens around handlers: the log, hooks, traces and options by type. */
export function handlingSuite(installed: () => Installed): void {
  let hookbox: Modules['hookbox'];
  let testing: Modules['hookbox/testing'];
  beforeAll(async () => {
    const { folder } = installed().plain;
    hookbox = await imported(folder, 'hookbox');
    testing = await imported(folder, 'hookbox/testing');
  });

  /** Delivers orders to handlers, and lets all that comes of it happen. */
  async function ran(handlers: Handlers, options: Partial<ReceiverOptions> = {}, ids: readonly string[] = ['evt_1']) {
    const { inbox, clock, handledAll } = testing.testInbox();
    const receiver = hookbox.createReceiver({ secret, inbox, clock, logger: false, ...options, handlers });
    await receiver.start();
    for (const [nth, id] of ids.entries()) {
      const event = { ...testing.buildEvent('order.created', { data: { id: 'ord_1', total: 7 + nth } }), id };
      await testing.deliverTo(receiver, event, { secret });
    }
    const events = await handledAll();
    await receiver.close();
    return { inbox, events };
  }

  describe('the log', () => {
    async function linesOf(handlers: Handlers, options: Partial<ReceiverOptions> = {}) {
      const lines: Record<string, unknown>[] = [];
      const logger = pino({}, { write: (text: string) => void lines.push(JSON.parse(text)) });
      await ran(handlers, { logger, ...options });
      return lines;
    }
    const failing: Handlers = {
      'order.created'(_, ctx) {
        ctx.log.info('packing');
        ctx.log.warn({ carrier: 'post' }, 'late');
        if (ctx.attempt === 1) throw new TypeError(`out of stock \u001b[2J${'x'.repeat(1_900)}`);
      },
    };
    const about = { type: 'order.created', id: 'evt_1', attempt: 1 };

    it('says through pino why a handler failed, in at most 4 KiB, and when one succeeded', async () => {
      const lines = await linesOf(failing);
      expect(lines.slice(0, 2)).toMatchObject([
        { ...about, level: 30, msg: 'packing' },
        { ...about, level: 40, msg: 'late', carrier: 'post' },
      ]);
      const failed = lines.find(({ err }) => err !== undefined);
      expect(failed).toMatchObject({
        ...about,
        durationMs: expect.any(Number),
        err: { message: expect.stringMatching(/^out of stock \\u\{1b\}/), stack: expect.stringMatching(/\n +at /) },
      });
      expect(Buffer.byteLength(JSON.stringify(failed?.['err']))).toBeLessThanOrEqual(4_096);
      expect(lines.at(-1)).toMatchObject({ ...about, level: 30, attempt: 2, msg: 'event processed' });
    });

    it('keeps to names with logErrors: false, and is silent with logger: false', async () => {
      const said = JSON.stringify(await linesOf(failing, { logErrors: false }));
      expect(said).toContain('TypeError');
      expect(said).not.toContain('out of stock');

      const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
      const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      const consoled = (['log', 'info', 'warn', 'error'] as const).map((name) =>
        vi.spyOn(console, name).mockImplementation(() => {}),
      );
      onTestFinished(() => void vi.restoreAllMocks());
      await ran(failing, { logger: false });
      for (const spy of [written, told, ...consoled]) expect(spy).not.toHaveBeenCalled();
    });
  });

  it('hooks are told of failures, deaths, conflicts and silence, and disturb nothing', async () => {
    const told: string[] = [];
    const tells = (name: string) => (facts: object) => {
      told.push(name);
      expect(JSON.stringify(facts)).not.toContain('ord_1');
      throw new Error('the pager is away');
    };
    const hooks = { onFailed: tells('failed'), onDead: tells('dead'), onConflict: tells('conflict') };
    const fails: Handlers = { '*': () => Promise.reject(new Error('no')) };
    const { events } = await ran(fails, { ...hooks, processing: { retry: { attempts: 2 } } }, ['evt_1', 'evt_1']);
    expect(events.map(({ state }) => state)).toEqual(['dead']);
    expect(told.toSorted()).toEqual(['conflict', 'dead', 'failed']);

    const { inbox, clock } = testing.testInbox();
    const silent: unknown[] = [];
    const onSilent = (facts: unknown) => void silent.push(facts);
    const receiver = hookbox.createReceiver({ secret, inbox, clock, logger: false, onSilent, silentAfterMs: 60_000 });
    await clock.advance(300_000);
    expect(silent).toMatchObject([{ endpoint: 'default', silentAfterMs: 60_000 }]);
    await receiver.close();
  });

  it('spans of a delivery and of its handler are linked over the inbox, without payload', async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    api.trace.setGlobalTracerProvider(provider);
    onTestFinished(() => api.trace.disable());
    await ran({ '*': () => {} }, { openTelemetry: api });
    const [receive, handle] = exporter.getFinishedSpans();
    expect([receive?.name, receive?.kind]).toEqual(['receive default', api.SpanKind.PRODUCER]);
    expect([handle?.name, handle?.kind]).toEqual(['handle default', api.SpanKind.CONSUMER]);
    expect(handle?.links.map(({ context }) => context.spanId)).toEqual([receive?.spanContext().spanId]);
    expect(handle?.attributes).toMatchObject({
      'messaging.system': 'hookbox',
      'messaging.message.id': 'evt_1',
      'messaging.operation.type': 'process',
    });
    expect(JSON.stringify([receive?.attributes, handle?.attributes])).not.toContain('ord_1');
  });

  describe('options by type', () => {
    const attempts = async (handler: Handlers['order.created'], ids?: readonly string[]) => {
      const { inbox } = await ran({ 'order.created': handler } as Handlers, {}, ids);
      return inbox.attempts({ endpoint: 'default', id: 'evt_1' });
    };

    it('retry and timeoutMs are those of the type', async () => {
      const namesOf = async (handler: Handlers['order.created']) =>
        (await attempts(handler)).map(({ error }) => error?.name);
      const fails = () => Promise.reject(new RangeError('no'));
      expect(await namesOf({ handle: fails, retry: { attempts: 2, maxMs: 5 } })).toEqual(['RangeError', 'RangeError']);
      const hangs = () => new Promise<void>(() => {});
      expect(await namesOf({ handle: hangs, retry: { attempts: 1 }, timeoutMs: 50 })).toEqual(['TimeoutError']);
    });

    it('concurrency and blocks: a failing event holds up neither its order nor others', async () => {
      const order: string[] = [];
      let running = 0;
      const handle: Handlers['order.created'] = async (event, ctx) => {
        expect((running += 1)).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        order.push(event.id);
        if (event.id === 'evt_1' && ctx.attempt === 1) throw new Error('once');
      };
      await attempts({ handle, concurrency: 1, blocks: false }, ['evt_1', 'evt_2']);
      expect(order).toEqual(['evt_1', 'evt_2', 'evt_1']);
      order.length = 0;
      await attempts(handle, ['evt_1', 'evt_2']);
      expect(order).toEqual(['evt_1', 'evt_1', 'evt_2']);
    });

    it('RetryLaterError says when, ctx.skip says why, and ctx has the delivery and its bytes', async () => {
      const seen: unknown[] = [];
      const ended = await attempts((event, ctx) => {
        if (ctx.attempt === 1) throw new hookbox.RetryLaterError({ afterMs: 3_600_000 });
        seen.push((JSON.parse(Buffer.from(ctx.rawBody).toString()) as { id: string }).id === event.id, ctx.delivery);
        return ctx.skip('not our warehouse');
      });
      const [first, second] = ended;
      expect(second).toMatchObject({ outcome: 'processed', skipped: 'not our warehouse' });
      expect(Number(second?.startedAt) - Number(first?.startedAt)).toBeGreaterThanOrEqual(3_600_000);
      expect(seen).toEqual([true, { endpoint: 'default', receivedAt: expect.any(Date), verified: true }]);
    });
  });
}
