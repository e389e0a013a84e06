import { isFarAhead } from '../events/instant.ts';
import { throttle, type Logger } from '../host/logger.ts';
import type { Tracing } from '../host/tracing.ts';
import type { Acceptance } from '../inbox/event.ts';
import type { Delivery } from './delivery.ts';
import { isErrorOutcome, type Outcome } from './outcome.ts';
import type { VerifiedDelivery } from './verifier.ts';

interface DeliveryLog {
  uselessEntity(id: string, error: string): void;
  oddities(verified: VerifiedDelivery, acceptance: Acceptance, now: number): void;
}

export function deliveryLog(logger: Logger, endpoint: string): DeliveryLog {
  const seldom = throttle();
  return {
    uselessEntity(id, error) {
      seldom('entity', (suppressed) => {
        const message =
          'the entity function returned no usable name, so the event has no entity and may be handled in any order';
        logger.error({ endpoint, id, error, suppressed }, message);
      });
    },
    oddities({ id, event, facts: { created } }, { result, conflict }, now) {
      if (event.type === null && result === 'stored') {
        const issues = event.issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
        seldom('invalid', (suppressed) =>
          logger.warn({ endpoint, id, issues, suppressed }, 'the event was stored as dead(invalid)'),
        );
      }
      if (created !== null && isFarAhead(created, now) && result === 'stored') {
        const facts = { endpoint, id, created: new Date(created.ms).toISOString() };
        seldom('far ahead', (suppressed) => {
          logger.warn(
            { ...facts, suppressed },
            'created is more than a day in the future, so this event does not supersede older events',
          );
        });
      }
      if (conflict) {
        seldom('conflict', (suppressed) => {
          logger.warn(
            { endpoint, id, suppressed },
            'a redelivery has the same id but a different body; the first body is kept',
          );
        });
      }
    },
  };
}

/** Warns once, with the first event, that no processor was started. */
export function startReminder(
  logger: Logger,
  endpoint: string,
): { readonly remind: () => void; readonly forget: () => void } {
  let isDue = true;
  return {
    remind() {
      if (!isDue) return;
      isDue = false;
      logger.warn(
        { endpoint },
        'events are stored but not handled: call receiver.start(), or run a processor for this endpoint ' +
          'elsewhere with createProcessor({ endpoint, … })',
      );
    },
    forget() {
      isDue = false;
    },
  };
}

/** A sender's mistake is not an error of this server. */
export async function inSpan(
  tracing: Tracing,
  endpoint: string,
  { header }: Delivery,
  takeIn: (trace: string | null) => Promise<Outcome>,
): Promise<Outcome> {
  const span = tracing.receive(endpoint, header);
  const outcome = await span.run(() => takeIn(span.trace));
  if (isErrorOutcome(outcome)) {
    const { kind, status, body } = outcome;
    span.end({ outcome: kind, errorType: body.error.code, isError: status >= 500 });
  } else {
    span.end({ outcome: outcome.kind, id: outcome.id });
  }
  return outcome;
}
