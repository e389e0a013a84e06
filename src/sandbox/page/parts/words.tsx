import type { DeliveryState } from '../../delivery-list.ts';
import type { OrderStatus } from '../../order-moves.ts';

/** `$12.50` */
export function usd(amount: number): string {
  return `$${amount.toFixed(2)}`;
}

/** What moves an order there, as a button says it. */
export const MOVE_WORDS: Readonly<Record<OrderStatus, string>> = {
  created: 'Create',
  confirmed: 'Confirm',
  ready: 'Mark ready',
  completed: 'Complete',
  cancelled: 'Cancel',
  failed: 'Fail',
};

type Colour = 'pending' | 'processing' | 'processed' | 'dead' | 'ignored';

/** The colours of the states of events, which the style sheet has. */
const COLOURS: Readonly<Record<OrderStatus | DeliveryState, Colour>> = {
  created: 'pending',
  confirmed: 'processing',
  ready: 'processing',
  completed: 'processed',
  cancelled: 'ignored',
  failed: 'dead',
  waiting: 'pending',
  delivered: 'processed',
  dead: 'dead',
  dropped: 'ignored',
};

/** The state of an order or of a delivery as a badge. */
export function StateBadge({ state }: { readonly state: OrderStatus | DeliveryState }) {
  return <span class={`state state-${COLOURS[state]}`}>{state}</span>;
}
