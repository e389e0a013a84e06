import { z } from 'zod';

/** Every field may be absent or null: interface 6.2 lists what was seen, not what is always there. */
export const orderItem = z.object({
  product_id: z.string().nullish(),
  quantity: z.number().nullish(),
  price: z.number().nullish(),
});

/** `data` of the six order events (interface 6.2). */
export const orderData = z.object({
  /** reads `order`; another word is an issue, not a reason to refuse */
  object: z.string().nullish(),
  id: z.string().nullish(),
  status: z.string().nullish(),
  merchant_id: z.string().nullish(),
  user_id: z.string().nullish(),
  /** unit and currency are the service's; see `currency` */
  total: z.number().nullish(),
  currency: z.string().nullish(),
  items: z.array(orderItem).nullish(),
  /** ISO 8601 date-time */
  estimated_ready_time: z.string().nullish(),
});

/** `data` of `order.confirmed`, which says more. */
export const orderConfirmedData = orderData.extend({
  fulfillment_method: z.string().nullish(),
  special_instructions: z.string().nullish(),
});
