import { age, number, plural } from '../../ops/words/format.ts';
import { sayings, type Sayings } from '../../page/acts/flash.ts';

/** What an action came to, as the screen that comes after it says. */
const SAYINGS = {
  again: () => 'The form was submitted twice, but took effect only once.',
  moved: () => 'The status of the order was changed. The event about the change will be delivered.',
  retrying: () => 'The delivery will be retried. If the clock is frozen, this happens when you advance it.',
  'not-retried': () =>
    'Nothing was done. Either the delivery has succeeded, is being sent or is waiting for its first attempt, or its endpoint was removed.',
  'retrying-dead': ([dead = 0]) =>
    dead === 0
      ? 'Nothing was done: this endpoint has no dead letters.'
      : `${plural(dead, 'dead letter')} will be retried. If the clock is frozen, this happens when you advance it.`,
  'key-made': () => 'The key was created. Its value was shown once.',
  'key-deleted': () => 'The key was deleted. Requests that use it now get a 401 response.',
  'webhook-added': () => 'The endpoint was registered. It will receive events from now on.',
  'webhook-changed': () => 'The endpoint was changed.',
  'webhook-removed': () => 'The endpoint and its pending deliveries were removed.',
  'secret-made': () => 'The secret was replaced. The new one was shown once.',
  'stock-set': ([quantity = 0]) => `The stock is now ${number(quantity)}.`,
  advanced: ([ms = 0]) =>
    ms === 0 ? 'All due work is done.' : `The clock advanced by ${age(ms)}, and all work that was due is done.`,
  advancing: () =>
    'The clock is still advancing, because receivers have not answered yet. It continues even if you leave this page.',
  'fault-added': () => 'The fault was added.',
  'faults-removed': () => 'The fault was cleared.',
} as const satisfies Sayings;

/** What can be said after an action. */
export type SayingCode = keyof typeof SAYINGS;

export const { withFlash, flashOf } = sayings(SAYINGS);
