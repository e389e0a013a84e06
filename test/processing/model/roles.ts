import type { Handler, Handlers } from '../../../src/processing/handlers.ts';
import type { Handled } from './model-event.ts';

export const endpoints = ['default', 'shop-b'] as const;

interface Duty {
  /** the endpoint whose deliveries it takes in; it then handles no other */
  readonly receives?: string;
  readonly endpoint?: string | readonly string[];
  readonly types: readonly string[] | '*' | null;
  /** `false`: what fails under its handlers does not hold back newer events */
  readonly blocks?: false;
}

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
  nothing: { endpoint: '*', types: [] },
} satisfies Record<string, Duty>;

export type Role = keyof typeof duties;

export const workers = Object.keys(duties).filter((role) => dutyOf(role as Role).types !== null) as Role[];
export const roles = Object.keys(duties) as Role[];

export function isWorker(role: Role): boolean {
  return (dutyOf(role).types ?? []).length > 0;
}

export function dutyOf(role: Role): Duty {
  return duties[role];
}

export function handledBy(role: Role): Handled {
  const { receives, endpoint = receives ?? 'default', types } = dutyOf(role);
  return { endpoints: endpoint === '*' ? '*' : [endpoint].flat(), types: types ?? [] };
}

export function handlersOf(role: Role, handler: Handler<{ readonly id: string }>): Handlers {
  const { types, blocks } = dutyOf(role);
  const names = types === '*' ? ['*'] : (types ?? []);
  const given = blocks === undefined ? handler : { handle: handler, blocks };
  return Object.fromEntries(names.map((name) => [name, given]));
}
