import type { EntityOf } from '../../events/entity.ts';

/** What a rule names an event; a rule of the merchant's may throw: as with a delivery, the event stands alone then. */
export function namedEntity(entity: EntityOf, event: Parameters<EntityOf>[0]): string | null {
  try {
    return entity(event);
  } catch {
    return null;
  }
}
