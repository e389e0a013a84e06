import { ConfigurationError } from '../errors.ts';
import { kindOf } from '../option-rules.ts';
import { oneLine } from '../printable.ts';
import { measuringBy, messagingAttributes, type Measured, type MetricsApi } from './measuring.ts';
import { performance } from './real-timers.ts';

type ReadHeader = (name: string) => string | null | undefined;

/** No method throws, whatever error the tracer throws. */
interface OpenSpan {
  /** The inbox stores it; `null` without tracing. */
  readonly trace: string | null;
  run<T>(work: () => T): T;
  end(about: SpanEnd): void;
}

export interface SpanEnd {
  readonly id?: string;
  readonly outcome: string;
  readonly errorType?: string;
  readonly isError?: boolean;
  readonly message?: string;
}

interface HandledEvent {
  readonly endpoint: string;
  readonly id: string;
  readonly type: string;
  readonly attempt: number;
  readonly trace?: string | undefined;
}

/** The OpenTelemetry conventions for messaging; the inbox is between sender and consumer. */
export interface Tracing {
  /** Continues the trace in the headers or of the current request. */
  receive(endpoint: string, header: ReadHeader | undefined): OpenSpan;
  /** Links to the delivery's span. It begins a new trace unless `isInline`. */
  handle(event: HandledEvent, isInline: boolean): OpenSpan;
  /** They have no span, because no handler ran. */
  superseded(events: { readonly endpoint: string; readonly type: string | null; readonly count: number }): void;
}

/** `SpanKind` and `SpanStatusCode` of the API. */
const PRODUCER = 3;
const CONSUMER = 4;
const ERROR = 2;

/** W3C Trace Context, 3.3.1.5. */
const MOST_STATE = 512;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?: (.*))?$/s;
const NO_ID = /^0+$/;

const GETTER: HeaderGetter = {
  keys: () => [],
  get: (carrier, name) => (carrier as { readonly header: ReadHeader }).header(name.toLowerCase()) ?? undefined,
};

export function tracingBy(api: OpenTelemetryApi | undefined): Tracing | null {
  if (api === undefined) return null;
  const isNamespace = typeof api === 'object' && api !== null && typeof api.trace?.getTracer === 'function';
  if (!isNamespace || typeof api.context?.with !== 'function' || typeof api.propagation?.extract !== 'function') {
    const what = `openTelemetry must be the namespace of @opentelemetry/api, not ${kindOf(api)}.`;
    throw new ConfigurationError(
      'INVALID_OPTION',
      `${what} Write import * as openTelemetry from '@opentelemetry/api'.`,
    );
  }
  const measure = measuringBy(api.metrics);
  const tracer = (): ReturnType<typeof api.trace.getTracer> => api.trace.getTracer('hookbox');

  return {
    receive(endpoint, header) {
      const measured = { operation: 'receive', endpoint } as const;
      return opened(api, measure, measured, () => {
        const active = api.context.active();
        const isTraced = api.trace.getSpan(active as never) !== undefined;
        const parent = isTraced || header === undefined ? active : extracted(api, active, header);
        const attributes = messagingAttributes('receive', 'send', endpoint);
        return {
          span: tracer().startSpan(`receive ${endpoint}`, { kind: PRODUCER, attributes }, parent as never),
          parent,
        };
      });
    },
    handle({ endpoint, id, type, attempt, trace }, isInline) {
      const measured = { operation: 'handle', endpoint, type } as const;
      return opened(api, measure, measured, () => {
        const parent = api.context.active();
        const link = trace === undefined ? null : linkTo(api, trace);
        const attributes = {
          ...messagingAttributes('handle', 'process', endpoint),
          'messaging.message.id': id,
          'hookbox.event.type': oneLine(type),
          'hookbox.attempt': attempt,
        };
        const options = { kind: CONSUMER, attributes, links: link === null ? [] : [link], root: !isInline };
        return { span: tracer().startSpan(`handle ${endpoint}`, options, parent as never), parent };
      });
    },
    superseded({ endpoint, type, count }) {
      const about = { operation: 'handle', endpoint, outcome: 'superseded', seconds: null, count } as const;
      quietly(() => measure({ ...about, ...(type !== null && { type }) }));
    },
  };
}

function extracted(api: OpenTelemetryApi, active: unknown, header: ReadHeader): unknown {
  return api.propagation.extract(active as never, { header }, GETTER);
}

function opened(
  api: OpenTelemetryApi,
  measure: (measured: Measured) => void,
  measured: Pick<Measured, 'operation' | 'endpoint' | 'type'>,
  start: () => { readonly span: SpanApi; readonly parent: unknown },
): OpenSpan {
  const startedAt = performance.now();
  const begun = quietly(() => {
    const { span, parent } = start();
    return { span, inside: api.trace.setSpan(parent as never, span as never) };
  });
  const span = begun?.span;
  let isOver = false;
  return {
    trace: span === undefined ? null : (quietly(() => written(span)) ?? null),
    run<T>(work: () => T): T {
      if (begun === undefined) return work();
      let result: { readonly value: T } | { readonly thrown: unknown } | undefined;
      quietly(() =>
        api.context.with(begun.inside as never, () => {
          try {
            result = { value: work() };
          } catch (thrown) {
            result = { thrown };
          }
        }),
      );
      if (result === undefined) return work();
      if ('thrown' in result) throw result.thrown;
      return result.value;
    },
    end({ id, outcome, errorType, isError = false, message }) {
      if (isOver) return;
      isOver = true;
      const seconds = (performance.now() - startedAt) / 1_000;
      const about = { ...measured, ...(errorType !== undefined && { errorType }) };
      quietly(() => measure({ ...about, outcome, seconds }));
      if (span === undefined) return;
      quietly(() => {
        if (id !== undefined) span.setAttribute('messaging.message.id', id);
        span.setAttribute('hookbox.outcome', outcome);
        if (errorType !== undefined) span.setAttribute('error.type', errorType);
        if (isError) span.setStatus({ code: ERROR, ...(message !== undefined && { message }) });
      });
      quietly(() => span.end());
    },
  };
}

function written(span: SpanApi): string | null {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const flags = (traceFlags & 0xff).toString(16).padStart(2, '0');
  const parent = `00-${traceId}-${spanId}-${flags}`;
  if (!TRACEPARENT.test(parent) || NO_ID.test(traceId) || NO_ID.test(spanId)) return null;
  const state = traceState?.serialize() ?? '';
  return state === '' || state.length > MOST_STATE ? parent : `${parent} ${state}`;
}

function linkTo(api: OpenTelemetryApi, trace: string): { context: never } | null {
  const [, traceId, spanId, flags = '', state] = TRACEPARENT.exec(trace) ?? [];
  if (traceId === undefined || spanId === undefined) return null;
  const traceState = state === undefined ? undefined : api.createTraceState(state);
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return { context: { ...context, ...(traceState !== undefined && { traceState }) } as never };
}

/** A failing tracer must not fail a delivery or a handler. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** The part of OpenTelemetry that hookbox uses. Pass the namespace of `@opentelemetry/api`. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): TracerApi;
    getSpan(context: never): SpanApi | undefined;
    setSpan(context: never, span: never): unknown;
  };
  readonly context: {
    active(): unknown;
    with(context: never, work: () => unknown): unknown;
  };
  readonly propagation: {
    extract(context: never, carrier: unknown, getter: HeaderGetter): unknown;
  };
  /** Absent before version 1.3 of `@opentelemetry/api`. */
  readonly metrics?: MetricsApi;
  createTraceState(written: string): unknown;
}

interface TracerApi {
  startSpan(name: string, options?: SpanOptionsApi, context?: never): SpanApi;
}

interface SpanOptionsApi {
  readonly kind?: number;
  readonly attributes?: Record<string, string | number | boolean>;
  readonly links?: { context: never }[];
  readonly root?: boolean;
}

interface SpanApi {
  spanContext(): {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceFlags: number;
    readonly traceState?: { serialize(): string } | undefined;
  };
  setAttribute(name: string, value: string | number): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/** Reads the headers of a delivery for an OpenTelemetry propagator. */
interface HeaderGetter {
  keys(carrier: unknown): string[];
  get(carrier: unknown, name: string): string | undefined;
}
