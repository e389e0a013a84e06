/** The states of an order (A3); its events have them, the Order body has not (interface 2.4). */
export const ORDER_STATUSES = ['created', 'confirmed', 'ready', 'completed', 'cancelled', 'failed'] as const;

/** The status of an order. */
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Where an order may move to; what the clock does comes first. */
const MOVES: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  created: ['confirmed', 'cancelled', 'failed'],
  confirmed: ['ready', 'cancelled', 'failed'],
  ready: ['completed', 'cancelled', 'failed'],
  completed: [],
  cancelled: [],
  failed: [],
};

/** Where an order may be moved to by hand. */
export function legalMoves(from: OrderStatus): readonly OrderStatus[] {
  return MOVES[from];
}

/** Where the clock moves an order; `null` where it stays. */
export function nextStatus(from: OrderStatus): OrderStatus | null {
  return MOVES[from][0] ?? null;
}
