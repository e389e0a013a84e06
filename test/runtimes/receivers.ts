import type { Controls, ReceiverSetup } from '../adapters/receiver-setup.ts';
import { receiverUnderTest, type HookboxParts, type ReceiverUnderTest } from '../adapters/receiver-under-test.ts';
import { checkVector, type HookboxChecks, type Vector } from './vector-check.ts';

type Mount<Handler> = (receiver: ReceiverUnderTest['receiver'], setup: ReceiverSetup) => Handler;

/** Opened, asked and closed over `/control`, each served below its number. */
export interface Receivers<Handler> {
  readonly handlerAt: (path: string) => Handler | undefined;
  /** JSON in and out. */
  readonly control: (path: string, body: string) => Promise<string>;
}

interface Made<Handler> {
  readonly controls: Controls;
  readonly handler: Handler;
}

export function receivers<Handler>(parts: HookboxParts & HookboxChecks, mount: Mount<Handler>): Receivers<Handler> {
  const setups: ReceiverSetup[] = [];
  const made = new Map<number, Made<Handler>>();

  /** By the first request, as on hosts where nothing runs before one. */
  function at(number: number): Made<Handler> | undefined {
    const known = made.get(number);
    const setup = setups[number];
    if (known !== undefined || setup === undefined) return known;
    const { receiver, controls } = receiverUnderTest(parts, setup);
    const fresh = { controls, handler: mount(receiver, setup) };
    made.set(number, fresh);
    return fresh;
  }

  async function called(path: string, body: string): Promise<unknown> {
    const [, , target = '', name = ''] = path.split('/');
    if (target === 'open') return setups.push(JSON.parse(body) as ReceiverSetup) - 1;
    if (target === 'check') return checkVector(parts, JSON.parse(body) as Vector);
    const controls = at(Number(target))?.controls;
    if (controls === undefined || !(name in controls)) throw new TypeError(`no such control: ${path}`);
    return controls[name as keyof Controls]();
  }

  return {
    handlerAt: (path) => at(Number(/^\/(\d+)\/webhooks$/.exec(path)?.[1]))?.handler,
    control: async (path, body) => JSON.stringify((await called(path, body)) ?? null),
  };
}
