import { age, number, plural } from '../../ops/words/format.ts';
import { sayings, type Sayings } from '../../page/acts/sayings.ts';

/** What an act came to, as the screen that comes after it says. */
const SAYINGS = {
  again: () => 'The form was sent twice, and its act was done once.',
  moved: () => 'The order was moved, and its event will be delivered.',
  retrying: () => 'The delivery will be retried. A frozen clock must move first.',
  'not-retried': () =>
    'Nothing was done: the delivery succeeded, is running or waits for its first attempt, or its endpoint was removed.',
  'retrying-dead': ([dead = 0]) =>
    dead === 0
      ? 'Nothing was done: this endpoint has no dead letters.'
      : `${plural(dead, 'dead letter')} will be retried. A frozen clock must move first.`,
  'key-made': () => 'The key was created. Its value was shown once.',
  'key-deleted': () => 'The key was deleted. Requests with it get 401.',
  'webhook-added': () => 'The endpoint was registered. It receives events from now on.',
  'webhook-changed': () => 'The endpoint was changed.',
  'webhook-removed': () => 'The endpoint was removed, with its waiting deliveries.',
  'secret-made': () => 'The secret was replaced. The new one was shown once.',
  'stock-set': ([quantity = 0]) => `The stock is ${number(quantity)} now.`,
  advanced: ([ms = 0]) =>
    ms === 0 ? 'All due work is done.' : `The clock moved by ${age(ms)}, and all work due by then is done.`,
  advancing: () => 'The clock is moving and waits for answers of receivers. It continues if you leave this page.',
  'fault-added': () => 'The fault was added.',
  'faults-removed': () => 'The fault was cleared.',
} as const satisfies Sayings;

/** What can be said after an act. */
export type SayingCode = keyof typeof SAYINGS;

export const { withFlash, flashOf } = sayings(SAYINGS);
