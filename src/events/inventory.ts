import { z } from 'zod';

/** `data` of the three inventory events (interface 6.2); every field may be absent or null. */
export const inventoryData = z.object({
  /** reads `inventory`; another word is an issue, not a reason to refuse */
  object: z.string().nullish(),
  product_id: z.string().nullish(),
  merchant_id: z.string().nullish(),
  location_id: z.string().nullish(),
  previous_quantity: z.number().nullish(),
  current_quantity: z.number().nullish(),
});
