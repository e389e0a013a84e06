import type { Handler, Handlers } from '../../../src/processing/handlers.ts';
import type { Breaker, Rate } from '../../../src/inbox/work.ts';
import type { Handled } from './model-event.ts';

export const endpoints = ['default', 'shop-b'] as const;

interface Duty {
  /** the endpoint whose deliveries it takes in; it then handles no other */
  readonly receives?: string;
  readonly endpoint?: string | readonly string[];
  readonly types: readonly string[] | '*' | null;
  /** `false`: what fails under its handlers does not hold back newer events */
  readonly blocks?: false;
  readonly rate?: Rate;
  /** of the waiting events of a type and entity, it runs only the newest */
  readonly latest?: true;
  readonly breaker?: Breaker;
}

/** Longer than a poll, so that no chance keeps it. */
const RATE: Rate = { count: 2, perMs: 4_000 };

const duties = {
  web: { receives: 'default', types: null },
  'web of b': { receives: 'shop-b', types: null },
  'web and all': { receives: 'default', types: '*' },
  'web of b and all': { receives: 'shop-b', types: '*' },
  all: { endpoint: '*', types: '*' },
  created: { types: ['order.created'] },
  'created and ready': { endpoint: ['default', 'shop-b'], types: ['order.created', 'order.ready'] },
  'ready of any': { endpoint: '*', types: ['order.ready'] },
  'created of b': { endpoint: 'shop-b', types: ['order.created'] },
  'any that yields': { endpoint: '*', types: ['order.created', 'order.ready'], blocks: false },
  rated: { endpoint: '*', types: ['order.created', 'order.ready'], rate: RATE },
  'web and all, rated': { receives: 'default', types: '*', rate: RATE },
  'the latest of all': { endpoint: '*', types: '*', latest: true },
  'the latest that is created': { types: ['order.created'], latest: true },
  breaking: { endpoint: '*', types: ['order.created', 'order.ready'], breaker: { failures: 3, probeMs: 4_000 } },
  nothing: { endpoint: '*', types: [] },
} satisfies Record<string, Duty>;

export type Role = keyof typeof duties;

/** Chance does not know when a breaker whose settlement got no answer has opened. */
export const roles = Object.keys(duties).filter((role) => role !== 'breaking') as Role[];
export const workers = roles.filter((role) => dutyOf(role).types !== null);

export function isWorker(role: Role): boolean {
  return (dutyOf(role).types ?? []).length > 0;
}

export function dutyOf(role: Role): Duty {
  return duties[role];
}

export function handledBy(role: Role): Handled {
  const { receives, endpoint = receives ?? 'default', types, rate } = dutyOf(role);
  const endpoints = endpoint === '*' ? '*' : [endpoint].flat();
  return { endpoints, types: types ?? [], ...(rate !== undefined && { rate }) };
}

export function handlersOf(role: Role, handler: Handler<{ readonly id: string }>): Handlers {
  const { types, blocks, rate, latest, breaker } = dutyOf(role);
  const names = types === '*' ? ['*'] : (types ?? []);
  const options = Object.entries({ blocks, rate, latest, breaker }).filter(([, value]) => value !== undefined);
  const given = options.length === 0 ? handler : { handle: handler, ...Object.fromEntries(options) };
  return Object.fromEntries(names.map((name) => [name, given]));
}
