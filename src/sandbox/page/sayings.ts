import { age, number, plural } from '../../ops/words/format.ts';
import { sayings, type Sayings } from '../../page/acts/sayings.ts';

/** What an act came to, as the screen that comes after it says. */
const SAYINGS = {
  again: () => 'This form came twice. What it asks for was done once, and not again.',
  moved: () => 'The order was moved, and its event is on its way.',
  retrying: () => 'It is tried once more. On a frozen clock that is with the next move of the clock.',
  'not-retried': () =>
    'Nothing was done: it was delivered, is being tried, has yet to be tried for the first time, or has lost its endpoint.',
  'retrying-dead': ([dead = 0]) =>
    dead === 0
      ? 'Nothing was done: this endpoint has no dead letters.'
      : `${plural(dead, 'dead letter')} will be tried once more. On a frozen clock that is with the next move of the clock.`,
  'key-made': () => 'The key was made. Its value was shown once.',
  'key-deleted': () => 'The key was deleted: requests that are sent with it are answered 401.',
  'webhook-added': () => 'The endpoint was registered. It gets what happens from now on.',
  'webhook-changed': () => 'The endpoint was changed.',
  'webhook-removed': () => 'The endpoint was removed. What waited for it was dropped.',
  'secret-made': () => 'The secret was replaced. The new one was shown once.',
  'stock-set': ([quantity = 0]) => `The stock is ${number(quantity)} now.`,
  advanced: ([ms = 0]) =>
    ms === 0 ? 'What was due has happened.' : `The clock was moved by ${age(ms)}, and what fell due has happened.`,
  advancing: () =>
    'The clock is on its way: it waits for the answers of receivers. It goes on when you leave this page.',
  'fault-added': () => 'It will go wrong as you asked.',
  'faults-removed': () => 'It will not go wrong any more.',
} as const satisfies Sayings;

/** What can be said after an act. */
export type SayingCode = keyof typeof SAYINGS;

export const { withFlash, flashOf } = sayings(SAYINGS);
