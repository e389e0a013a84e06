import { isLoopback } from '../../host/loopback.ts';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { isUrl } from '../../host/postgres-url.ts';
import { parseDuration } from '../../ops/words/read-time.ts';
import { createSandbox, type Assumptions, type PlanLimits, type PlanName, type Sandbox } from '../../sandbox/index.ts';
import { EXIT, usageError, tell, type ExitCode } from '../shared/output.ts';
import { stopSignal } from '../shared/interruption.ts';
import { addressOf, isLoopbackHost, listen, stopListening } from '../shared/listen.ts';
import { requireFile } from '../shared/files.ts';
import { givenSecret, type SecretOptions } from '../shared/secret.ts';
import { targetOf } from '../shared/options.ts';
import { whyUnreachable } from '../shared/unreachable.ts';
import { addFault, controlPath, registerEndpoint } from './control-server.ts';
import { dropToken, keepToken } from './control-token.ts';
import { CONTROL_PATH, DASHBOARD } from './sandbox-address.ts';
import { printTry, tellLeft, tellStart } from './sandbox-lines.ts';

interface RunSandboxOptions extends SecretOptions {
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
 * `hookbox sandbox`: serves a sandbox until a signal arrives. Deliveries in progress then end, or are cut after a
 * second and sent again when the file is opened the next time.
 */
export async function runSandbox(options: RunSandboxOptions): Promise<ExitCode> {
  const { db, port, host, json = false, to, allowRemote = false, unsigned = false, seed } = options;
  const target = to === undefined ? null : targetOf(to, allowRemote);
  const secret = unsigned ? null : givenSecret(options);
  if (db !== undefined && !isUrl(db)) requireFile(db);
  const isReopened = db !== undefined && existsSync(db) && statSync(db).size > 0;
  const stopped = stopSignal();
  const token = randomBytes(24).toString('base64url');
  // Before its file is opened: a sandbox that cannot start must not send the pending deliveries of the file.
  const server = createServer();
  const base = `http://${await listen(server, { port, portOption: '--port', host })}`;
  using _ = { [Symbol.dispose]: () => server.close() }; // also if the sandbox cannot start
  refuseElsewhere(base);
  await using sandbox = opened(options, (id) => printTry(sandbox, id, { json, base }));
  answerWith(server, sandbox, token);
  try {
    const unkept = keepToken(addressOf(server).port, token);
    for (const fault of options.fault ?? []) addFault(sandbox, fault);
    // In the turn that prints the secret, before any request.
    const registered = target === null ? null : registerEndpoint(sandbox, target, { secret, unsigned }, { seed });
    tellStart(sandbox, { ...options, base, isReopened, registered });
    if (unkept !== null) tell(`Commands in other shells cannot control this sandbox: ${unkept}.`);
    if (registered !== null && target !== null) void tellUnreachable(target);
    return (await stopped) === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
  } finally {
    dropToken(addressOf(server).port, token);
    await stopListening(server, async () => {
      tellLeft(sandbox, db);
      await sandbox.close();
    });
  }
}

function refuseElsewhere(base: string): void {
  const { hostname } = new URL(base);
  if (isLoopback(hostname)) return;
  throw usageError(
    `If the sandbox listened only on ${hostname}, this machine could not reach it. Listen on 0.0.0.0, or on a ` +
      'loopback address.',
  );
}

function opened(options: RunSandboxOptions, onTry: (delivery: number) => void): Sandbox {
  const { db, seed, clock, plan, host, allowRemote = false, assume = [] } = options;
  return createSandbox({
    clock,
    allowRemote,
    onTry,
    ...(db !== undefined && { file: db }),
    ...(seed !== undefined && { seed }),
    ...(plan !== undefined && { plan: planOf(plan) }),
    assumptions: { plainHttpAnywhere: !isLoopbackHost(host), ...assumptionsOf(assume) },
  });
}

function planOf(text: string): PlanName | PlanLimits {
  if (!text.includes('=')) return text as PlanName;
  const limits = text.split(',').map((part) => namedValue('--plan', part));
  return Object.fromEntries(limits.map(([name, value]) => [name, Number(value)]));
}

function assumptionsOf(texts: readonly string[]): Partial<Assumptions> {
  const settings = texts.map((text) => {
    const [name, value] = namedValue('--assume', text);
    if (value === 'true' || value === 'false') return [name, value === 'true'];
    const number = Number(value);
    return [name, Number.isNaN(number) && name.endsWith('Ms') ? (parseDuration(value) ?? number) : number];
  });
  return Object.fromEntries(settings);
}

function namedValue(option: string, text: string): readonly [name: string, value: string] {
  const [, name, value] = /^\s*(\w+)=(\S+)\s*$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(`${option} ${JSON.stringify(text)} must be name=value.`);
}

function answerWith(server: Server, sandbox: Sandbox, token: string): void {
  const control = controlPath(sandbox, token);
  let dashboard: Promise<Hono> | undefined;
  // Loaded on demand. It has no login, so it answers only this machine, even if the service answers others.
  const openDashboard = () =>
    (dashboard ??= import('../../sandbox/page/sandbox-page.tsx').then(({ sandboxPage }) =>
      new Hono().route(DASHBOARD, sandboxPage(sandbox)),
    ));
  const listener = getRequestListener(async (request, env) => {
    const path = new URL(request.url).pathname;
    if (path === CONTROL_PATH) return control(request, env);
    if (path === DASHBOARD || path.startsWith(`${DASHBOARD}/`)) return (await openDashboard()).fetch(request, env);
    return sandbox.fetch(request, env);
  });
  server.on('request', (incoming, outgoing) => void listener(incoming, outgoing));
}

async function tellUnreachable(target: URL): Promise<void> {
  const why = await whyUnreachable(target);
  if (why !== null)
    tell(
      `note: no server is listening at ${target.origin} (${why}). The sandbox retries failed deliveries on the schedule of the service.`,
    );
}
