import { isEventType } from '../events/event-types.ts';

/** The part of the metrics API of OpenTelemetry that hookbox uses. */
export interface MetricsApi {
  getMeter(name: string): MeterApi;
}

interface MeterApi {
  createHistogram(name: string, options: InstrumentOptions): { record(value: number, attributes: Attributes): void };
  createCounter(name: string, options: InstrumentOptions): { add(value: number, attributes: Attributes): void };
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
  readonly advice?: { readonly explicitBucketBoundaries: number[] };
}

type Attributes = Readonly<Record<string, string>>;

/** The operations of the OpenTelemetry conventions for messaging. */
export type Operation = 'receive' | 'handle';

/** A stored or rejected delivery, an ended attempt, or events that a newer one superseded. */
export interface Measured {
  readonly operation: Operation;
  readonly endpoint: string;
  /** The type of the event; unknown for a rejected delivery. */
  readonly type?: string;
  readonly outcome: string;
  readonly errorType?: string;
  /** `null` if no handler ran. */
  readonly seconds: number | null;
  /** @defaultValue 1 */
  readonly count?: number;
}

/** The unit that the conventions advise for durations. */
const BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

const NAMES = {
  receive: {
    type: 'send',
    duration: ['messaging.client.operation.duration', 'How long it takes to verify and store a delivery.'],
    count: ['messaging.client.sent.messages', 'Deliveries.'],
  },
  handle: {
    type: 'process',
    duration: ['messaging.process.duration', 'How long a handler runs.'],
    count: ['messaging.client.consumed.messages', 'Attempts.'],
  },
} as const;

type Recorder = (measured: Measured) => void;

/** Records with the meter that is registered now, because an application may register its SDK after it creates a receiver. */
export function measuringBy(metrics: MetricsApi | undefined): Recorder {
  if (metrics === undefined) return () => {}; // before version 1.3 of the API
  let meter: MeterApi | undefined;
  let record: Record<Operation, Recorder> | undefined;
  return (measured) => {
    const current = metrics.getMeter('hookbox');
    if (current !== meter || record === undefined) {
      meter = current;
      record = { receive: instruments(current, 'receive'), handle: instruments(current, 'handle') };
    }
    record[measured.operation](measured);
  };
}

function instruments(meter: MeterApi, operation: Operation): Recorder {
  const { type: operationType, duration, count } = NAMES[operation];
  const advice = { explicitBucketBoundaries: BOUNDARIES };
  const seconds = meter.createHistogram(duration[0], { description: duration[1], unit: 's', advice });
  const messages = meter.createCounter(count[0], { description: count[1], unit: '{message}' });
  return ({ endpoint, type, outcome, errorType, seconds: took, count: times = 1 }) => {
    const attributes = {
      ...messagingAttributes(operation, operationType, endpoint),
      'hookbox.outcome': outcome,
      // A sender chooses the names of unknown types, so each would be a new series.
      ...(type !== undefined && { 'hookbox.event.type': isEventType(type) ? type : '_OTHER' }),
      ...(errorType !== undefined && { 'error.type': errorType }),
    };
    if (took !== null) seconds.record(took, attributes);
    messages.add(times, attributes);
  };
}

/** Attributes that spans and metrics share. */
export function messagingAttributes(name: Operation, type: string, endpoint: string): Record<string, string> {
  return {
    'messaging.system': 'hookbox',
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    'messaging.destination.name': endpoint,
  };
}
