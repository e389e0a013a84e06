import { z } from 'zod';

/** `data` of the two cart events (interface 6.2); every field may be absent or null. */
export const cartData = z.object({
  /** reads `cart`; another word is an issue, not a reason to refuse */
  object: z.string().nullish(),
  id: z.string().nullish(),
  user_id: z.string().nullish(),
  merchant_id: z.string().nullish(),
  /** ISO 8601 date-time */
  last_activity: z.string().nullish(),
  total_value: z.number().nullish(),
  item_count: z.int().nullish(),
});
