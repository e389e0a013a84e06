import type { Tracing } from '../host/tracing.ts';
import type { Delivery } from './delivery.ts';
import { isErrorOutcome } from './error-outcomes.ts';
import type { Outcome } from './outcome.ts';

/**
 * Takes a delivery in inside a span. What a sender has got wrong is told by its code and is no error of this server.
 *
 * @param takeIn - is given the context of the span, which is stored with the event
 */
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
