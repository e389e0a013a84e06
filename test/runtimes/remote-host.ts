import type { Host } from '../adapters/conformance.ts';
import type { Served } from '../adapters/http-adapter-case.ts';
import type { Controls } from '../adapters/receiver-setup.ts';
import { SECRET } from '../helpers/signed-event.ts';

export interface RunningServer extends AsyncDisposable {
  readonly origin: string;
  /** Such as `bun 1.4.5`. */
  readonly runtime: string;
}

/** Opened and asked over `/control`. */
export function remoteHost({ origin, runtime }: RunningServer, adapter: string): Host {
  return {
    name: `${runtime}, ${adapter}`,
    async open(setup = {}) {
      const number = await controlled<number>(origin, 'open', { secret: [SECRET], ...setup });
      return servedAt(origin, number);
    },
  };
}

function servedAt(origin: string, number: number): Served {
  const ask =
    <Name extends keyof Controls>(name: Name) =>
    () =>
      controlled<Awaited<ReturnType<Controls[Name]>>>(origin, `${number}/${name}`);
  return {
    url: `${origin}/${number}/webhooks`,
    events: ask('events'),
    log: ask('log'),
    tally: ask('tally'),
    heal: ask('heal'),
    closeReceiver: ask('closeReceiver'),
    [Symbol.asyncDispose]: ask('dispose'),
  };
}

export async function controlled<Answered>(origin: string, what: string, given?: unknown): Promise<Answered> {
  const response = await fetch(`${origin}/control/${what}`, { method: 'POST', body: JSON.stringify(given ?? null) });
  if (!response.ok) throw new Error(`/control/${what} answers ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answered;
}
