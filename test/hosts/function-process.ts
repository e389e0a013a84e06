/** As a host of functions: loads the module once, then calls it for each request. */
import { pathToFileURL } from 'node:url';
import type { FunctionCall, FunctionReply, LambdaCall, PlainCall, WebRequest } from './function-host.ts';

const module = (await import(pathToFileURL(process.argv[2] ?? '').href)) as Record<string, unknown>;

process.on('disconnect', () => process.exit());
process.on('message', (call: FunctionCall) => void answer(call));
process.send?.('ready');

async function answer({ name, ...call }: FunctionCall): Promise<void> {
  const exported = module[name] as (...parameters: unknown[]) => unknown;
  let reply: FunctionReply;
  try {
    reply = { value: 'web' in call ? await web(exported, call.web) : await exported(...parametersOf(call)) };
  } catch (failure) {
    // The host answers 500.
    reply = { error: String(failure) };
  }
  process.send?.(reply);
}

function parametersOf(call: PlainCall | LambdaCall): readonly unknown[] {
  if (!('event' in call)) return call.parameters;
  const until = performance.now() + call.remainingMs;
  const context = {
    functionName: 'webhooks',
    awsRequestId: '8f507cfc-1a2b-4c3d-9e4f-5a6b7c8d9e0f',
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => until - performance.now(),
  };
  return [call.event, context];
}

async function web(exported: (...parameters: unknown[]) => unknown, request: WebRequest): Promise<unknown> {
  const waitedFor: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void waitedFor.push(work) };
  Object.assign(globalThis, { [Symbol.for('@vercel/request-context')]: { get: () => context } });
  const { url, ...init } = request;
  const response = (await exported(new Request(url, init), context)) as Response;
  const answered = { status: response.status, text: await response.text() };
  await Promise.all(waitedFor);
  return { ...answered, waitedFor: waitedFor.length };
}
