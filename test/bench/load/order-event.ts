import { randomUUID } from 'node:crypto';

/** One event as the service would send it. */
export interface OrderEvent {
  readonly id: string;
  readonly body: string;
}

/**
 * An `order.created` event (interface 6.2) of about 400 bytes, with ids nobody has used. Random ids, because they are
 * what a unique index finds hardest: each lands on a page of its own.
 */
export function orderEvent(): OrderEvent {
  const unique = randomUUID();
  const id = `evt_${unique}`;
  const body = JSON.stringify({
    id,
    type: 'order.created',
    created: new Date().toISOString(),
    data: {
      object: 'order',
      id: `ord_${unique.slice(0, 18)}`,
      status: 'created',
      merchant_id: 'mer_7f3a91c2',
      user_id: `usr_${unique.slice(24)}`,
      total: 42.5,
      currency: 'USD',
      items: [
        { product_id: 'prd_espresso_01', quantity: 2, price: 12.5 },
        { product_id: 'prd_croissant_9', quantity: 5, price: 3.5 },
      ],
      estimated_ready_time: '2026-03-01T12:30:00.000Z',
    },
  });
  return { id, body };
}
