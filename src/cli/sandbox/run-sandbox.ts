import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { isUrl } from '../../host/postgres-url.ts';
import { parseDuration } from '../../ops/words/read-time.ts';
import { createSandbox, type Sandbox, type Assumptions, type PlanLimits, type PlanName } from '../../sandbox/index.ts';
import { usageError, tell } from '../shared/output.ts';
import { stopSignal, type StopSignal } from '../shared/interruption.ts';
import { addressOf, isLoopbackHost, listen, stopListening } from '../shared/listen.ts';
import { requireFile } from '../shared/files.ts';
import { givenSecret, type SecretOptions } from '../shared/secret.ts';
import { isLoopback, targetOf } from '../shared/options.ts';
import { whyUnreachable } from '../shared/unreachable.ts';
import { addFault, registerEndpoint, type Registered, type Signing, type Control } from './control-server.ts';
import { dropToken, keepToken } from './control-token.ts';
import { printTry, tellLeft, tellStart } from './sandbox-lines.ts';
import { CONTROL_PATH, DASHBOARD } from './sandbox-address.ts';

/** What the arguments of `sandbox` say. */
export interface RunSandboxOptions extends SecretOptions {
  readonly to?: string;
  readonly port: number;
  readonly host: string;
  readonly db?: string;
  readonly seed?: number;
  readonly clock: 'real' | 'frozen';
  readonly plan?: string;
  readonly assume?: readonly string[];
  readonly fault?: readonly string[];
  readonly unsigned?: boolean;
  readonly allowRemote?: boolean;
  readonly json?: boolean;
}

/**
 * Serves a sandbox until a signal says to stop, and resolves with it. What is under way then ends, or is cut after a
 * second and sent again by whoever opens the file.
 *
 * @throws Error with a message for people when it cannot start
 */
export async function runSandbox(options: RunSandboxOptions): Promise<StopSignal> {
  const { db, port, host, json = false, to, allowRemote = false } = options;
  const target = to === undefined ? null : targetOf(to, allowRemote);
  const signing = signingOf(options);
  if (db !== undefined && !isUrl(db)) requireFile(db);
  const isReopened = db !== undefined && existsSync(db) && statSync(db).size > 0;
  const stopped = stopSignal();
  const token = randomBytes(24).toString('base64url');
  // Before its file is opened: what waits in it is not sent by one that cannot start, nor before it says what it is.
  const server = createServer();
  const base = `http://${await listen(server, { port, portOption: '--port', host })}`;
  using _ = { [Symbol.dispose]: () => server.close() }; // also where it cannot start
  refuseElsewhere(base);
  await using sandbox = opened(options, (id) => printTry(sandbox, id, { json, base }));
  answerWith(server, sandbox, token);
  try {
    const unkept = keepToken(addressOf(server).port, token);
    for (const fault of options.fault ?? []) addFault(sandbox, fault);
    // Only now, as a secret that is made has to be told; and before any request, as these wait for this turn to end.
    const registered = target === null ? null : registerEndpoint(sandbox, target, signing, { seed: options.seed });
    tellStart(sandbox, { ...options, base, isReopened, registered });
    if (unkept !== null) tell(`Commands in other shells cannot control this sandbox: ${unkept}.`);
    if (registered !== null) void tellUnreachable(registered);
    return await stopped;
  } finally {
    dropToken(addressOf(server).port, token);
    await stopListening(server, async () => {
      tellLeft(sandbox, db);
      await sandbox.close();
    });
  }
}

/** Its page and what steers it take connections of this machine to itself alone, and there would be none. */
function refuseElsewhere(base: string): void {
  const { hostname } = new URL(base);
  if (isLoopback(hostname)) return;
  throw usageError(
    `If the sandbox listened only on ${hostname}, this machine could not reach it. Listen on 0.0.0.0, or on a ` +
      'loopback address.',
  );
}

function opened(options: RunSandboxOptions, onTry: (delivery: number) => void): Sandbox {
  const { db, seed, clock, plan, host, allowRemote = false } = options;
  return createSandbox({
    clock,
    allowRemote,
    onTry,
    ...(db !== undefined && { file: db }),
    ...(seed !== undefined && { seed }),
    ...(plan !== undefined && { plan: planOf(plan) }),
    assumptions: { plainHttpAnywhere: !isLoopbackHost(host), ...assumptionsOf(options.assume ?? []) },
  });
}

function signingOf(options: RunSandboxOptions): Signing {
  if (options.unsigned === true) return 'unsigned';
  const secret = givenSecret(options);
  return secret === null ? 'as it comes' : { secret };
}

/** Nothing is lost by it: it is said so that nobody waits for what comes later. */
async function tellUnreachable({ endpoint: { url } }: Registered): Promise<void> {
  if (url === null) return;
  const { origin } = new URL(url);
  const why = await whyUnreachable(new URL(url));
  if (why !== null)
    tell(
      `note: no server is listening at ${origin} (${why}). The sandbox retries failed deliveries on the schedule of the service.`,
    );
}

/**
 * Has a server answer as the whole sandbox: what steers it, its page, and the service everywhere else.
 *
 * @param token - what who steers it sends
 */
export function answerWith(server: Server, sandbox: Sandbox, token: string): void {
  let control: Promise<Control> | undefined;
  let dashboard: Promise<Hono> | undefined;
  // The first answer does not wait for what few ask for.
  const openControl = () =>
    (control ??= import('./control-server.ts').then(({ controlPath }) => controlPath(sandbox, token)));
  // Without a login it is for this machine alone, also where the service is for others.
  const openDashboard = () =>
    (dashboard ??= import('../../sandbox/page/sandbox-page.tsx').then(({ sandboxPage }) =>
      new Hono().route(DASHBOARD, sandboxPage(sandbox)),
    ));

  const listener = getRequestListener(async (request, env) => {
    const path = new URL(request.url).pathname;
    if (path === CONTROL_PATH) return (await openControl())(request, env);
    if (path === DASHBOARD || path.startsWith(`${DASHBOARD}/`)) return (await openDashboard()).fetch(request, env);
    return sandbox.fetch(request, env);
  });
  server.on('request', (incoming, outgoing) => void listener(incoming, outgoing));
}

/**
 * A plan by its name, or limits of its own: `perSecond=5,perMonth=100`. The sandbox says which there are.
 *
 * @throws CommandError for what is neither
 */
export function planOf(text: string): PlanName | PlanLimits {
  if (!text.includes('=')) return text as PlanName;
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [name, value] = namedValue('--plan', part);
      return [name, Number(value)];
    }),
  );
}

/**
 * What is assumed: numbers, `true` and `false`, and for times also `30s`. The sandbox says what may be.
 *
 * @throws CommandError for what has no name or no value
 */
export function assumptionsOf(texts: readonly string[]): Partial<Assumptions> {
  return Object.fromEntries(
    texts.map((text) => {
      const [name, value] = namedValue('--assume', text);
      return [name, settingOf(name, value)];
    }),
  );
}

function settingOf(name: string, value: string): number | boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value);
  return Number.isNaN(number) && name.endsWith('Ms') ? (parseDuration(value) ?? number) : number;
}

function namedValue(option: string, text: string): readonly [name: string, value: string] {
  const [, name, value] = /^\s*(\w+)=(\S+)\s*$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(`${option} ${JSON.stringify(text)} must be name=value.`);
}
