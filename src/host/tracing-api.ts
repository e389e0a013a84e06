/**
 * The part of OpenTelemetry that hookbox uses. Pass the namespace of `@opentelemetry/api`. hookbox itself does not
 * depend on that package.
 */
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

export interface SpanApi {
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
export interface HeaderGetter {
  keys(carrier: unknown): string[];
  get(carrier: unknown, name: string): string | undefined;
}
