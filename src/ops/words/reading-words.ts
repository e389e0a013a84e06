import type { TextReading } from '../find-by-text.ts';

/** What each kind of name is, where a text is taken for it. */
export const TAKEN_FOR = {
  id: 'an event id',
  entity: 'an entity',
  merchant: 'a merchant',
  type: 'an event type',
  text: 'part of an id, type, name or error',
} as const satisfies Record<TextReading['takenFor'], string>;

/** Before other names that begin as the text does. */
export const ALSO_BEGINS = 'Other names that begin with this text:';
