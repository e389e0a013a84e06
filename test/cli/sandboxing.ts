import { onTestFinished } from 'vitest';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, type Ran, type RunOptions } from './run-hookbox.ts';
import { running, type Running } from './serving.ts';

/** What a sandbox has said of itself. */
export interface Started {
  readonly base: string;
  readonly apiKey: string | null;
  readonly secret: string | null;
  readonly endpoint: { readonly id: string; readonly url: string; readonly isSigned: boolean } | null;
  readonly page: string;
}

/** A line of JSON about a try. */
export interface TryLine {
  readonly kind: string;
  readonly delivery: number;
  readonly event: string;
  readonly type: string;
  readonly number: number;
  readonly status: number | null;
  readonly state: string;
}

/** `hookbox sandbox` on a port of its own, which listens already. */
export interface Sandboxing extends Running {
  readonly started: Started;
  /** the temporary folder in which it keeps what steers it */
  readonly folder: string;
  /** `data` of an answer, or its status and error code */
  call<T = string>(method: string, path: string, body?: object): Promise<T>;
  /** Runs a command that steers it. */
  steer(args: readonly string[], options?: RunOptions): Promise<Ran>;
  /** what it has tried so far */
  tries(): readonly TryLine[];
}

/** Starts it with `--json`; what steers it is kept in a folder of the test. */
export async function sandboxing(args: readonly string[] = [], options: RunOptions = {}): Promise<Sandboxing> {
  const env = { TMPDIR: scratchFolder(), ...options.env };
  const sandbox = running(['sandbox', '--port', '0', '--json', ...args], { ...options, env });
  onTestFinished(() => void sandbox.child.kill('SIGKILL'));
  const started = JSON.parse(await sandbox.line('"kind":"started"')) as Started;
  return {
    ...sandbox,
    started,
    folder: env.TMPDIR,
    async call<T>(method: string, path: string, body?: object) {
      const answer = await fetch(started.base + path, {
        method,
        headers: { Authorization: started.apiKey ?? '', 'Content-Type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const { data, error } = (await answer.json()) as { data?: T; error?: { code?: string } };
      return data ?? (`${answer.status} ${error?.code}` as T);
    },
    steer([verb = '', ...rest], more = {}) {
      return runHookbox(['sandbox', verb, '--at', started.base, ...rest], { ...more, env: { ...env, ...more.env } });
    },
    tries: () => sandbox.stdout.map((line) => JSON.parse(line) as TryLine).filter(({ kind }) => kind === 'delivery'),
  };
}

/** An order of bread, as a client sends it. */
export const ORDER = {
  customer: { name: 'Ada' },
  items: [{ product_id: 'prod_country_loaf', quantity: 2 }],
  location_id: 'loc_bakery_pier',
  fulfillment_method: 'Pickup',
};
