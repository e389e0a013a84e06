import { number } from '../../ops/words/format.ts';
import type { FaultKind as DeliveryFaultKind } from '../../sender/faults.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { FaultKind, PendingFault } from '../faults.ts';
import { OPERATIONS } from '../service-operations.ts';

type Words = readonly [title: string, what: string];

export const FAULTS: Readonly<Record<FaultKind, Words>> = {
  before: ['Outage before', 'The operation is not carried out.'],
  after: ['Outage after', 'The operation is carried out, but the answer is an error.'],
  'lost-answer': ['Lost answer', 'The operation is carried out, but no answer arrives.'],
  slow: ['Slow answer', 'The operation and its answer are late, in real time.'],
  decline: ['Declined payment', 'The next submission of an order is declined.'],
  'fail-order': ['Failed order', 'The next order whose status the clock would change fails.'],
};

export const DELIVERY_FAULTS: Readonly<Record<DeliveryFaultKind, Words>> = {
  late: ['Late', 'Other deliveries arrive first.'],
  burst: ['Burst', 'Held back, then sent together with other deliveries.'],
  duplicate: ['Duplicate', 'Sent several times at once.'],
  'tampered-body': ['Changed body', 'One byte of the body is changed after signing.'],
  'tampered-signature': ['Changed signature', 'One digit of the signature is changed.'],
  cut: ['Cut connection', 'The connection ends within the body.'],
  'slow-body': ['Slow body', 'The body arrives in pieces.'],
  'lost-answer': ['Lost answer of a receiver', 'The receiver answers, but the answer does not arrive.'],
};

interface ActiveFault {
  readonly rowId: string;
  /** the path of the form that ends it */
  readonly ends: string;
  readonly title: string;
  readonly where: string;
  readonly detail: string;
  readonly timesLeft: string;
}

export function activeFaults({ faults }: Pick<Sandbox, 'faults'>): readonly ActiveFault[] {
  const ofOperations = faults.list().map((fault) => ({
    rowId: `fault-${fault.id}`,
    ends: `/faults/${fault.id}/remove`,
    title: FAULTS[fault.kind][0],
    where: whereInWords(fault),
    detail: detailInWords(fault),
    timesLeft: number(fault.timesLeft),
  }));
  const ofDeliveries = faults.ofDeliveries().map(({ id, kind, timesLeft }) => ({
    rowId: `delivery-fault-${id}`,
    ends: `/delivery-faults/${id}/remove`,
    title: DELIVERY_FAULTS[kind][0],
    where: 'next deliveries',
    detail: '',
    timesLeft: number(timesLeft),
  }));
  return [...ofOperations, ...ofDeliveries];
}

function whereInWords({ kind, operation }: PendingFault): string {
  if (operation !== null) return OPERATIONS[operation].title;
  if (kind === 'decline') return OPERATIONS.submitOrder.title;
  return kind === 'fail-order' ? 'next order' : 'any operation';
}

function detailInWords({ status, ms, outcome }: PendingFault): string {
  if (status !== null) return `status ${status}`;
  return ms === null ? (outcome ?? '') : `${number(ms)} ms`;
}
