// node in-process.ts operations NAME COUNT | events COUNT | events-over-http COUNT FILE URL: one line of JSON, how many a second.
import { createReceiver } from 'hookbox';
import { memoryInbox } from 'hookbox/memory';
import { createSandbox, type Sandbox } from 'hookbox/sandbox';
import { secret } from '../load/signing-schemes.ts';
import { requests, type RequestName, type SandboxRequest } from './requests.ts';

async function ask(sandbox: Sandbox, { method, path, body, status }: SandboxRequest, count: number): Promise<void> {
  const headers = { Authorization: sandbox.apiKey, 'Content-Type': 'application/json' };
  for (let asked = 0; asked < count; asked += 1) {
    const answer = await sandbox.fetch(`http://sandbox${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    await answer.arrayBuffer();
    if (answer.status !== status) throw new Error(`${method} ${path} was answered ${answer.status}.`);
  }
}

/** One client, one request after the other. */
async function operations(name: RequestName, count: number): Promise<number> {
  await using sandbox = createSandbox();
  await ask(sandbox, requests[name], count / 4);
  return await perSecond(count, () => ask(sandbox, requests[name], count));
}

/** One after the other, as on every clock that stands still; half of them warm up. */
async function events(count: number): Promise<number> {
  let handled = 0;
  const receiver = createReceiver({
    secret,
    inbox: memoryInbox(),
    processing: { mode: 'inline' },
    handlers: { '*': () => void (handled += 1) },
  });
  await using sandbox = createSandbox({ webhooks: [{ to: receiver, secret }] });
  for (let round = 0; round < 2; round += 1) {
    await ask(sandbox, requests.createOrder, count);
    if (round === 0) await sandbox.advance(0);
  }
  const rate = await perSecond(count, () => sandbox.advance(0));
  if (handled !== 2 * count) throw new Error(`${handled} of ${2 * count} events were handled.`);
  await receiver.close();
  return rate;
}

/** They wait in a file, as on a clock that stands still, until it is opened with one that goes: 16 at a time. */
async function eventsOverHttp(count: number, file: string, url: string): Promise<number> {
  const before = createSandbox({ file, webhooks: [{ to: url, secret }] });
  await ask(before, requests.createOrder, count);
  await before.close();
  const all = Promise.withResolvers<void>();
  let tries = 0;
  return perSecond(count, async () => {
    await using sandbox = createSandbox({ file, clock: 'real', onTry: () => (tries += 1) === count && all.resolve() });
    await all.promise;
    const { length: left } = sandbox.deliveries.list({ state: 'waiting' });
    if (left > 0) throw new Error('Not everything was taken.');
  });
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return count / ((performance.now() - startedAt) / 1_000);
}

async function measure([what, ...args]: readonly string[]): Promise<number> {
  const [first = '', second = '', third = ''] = args;
  if (what === 'operations') return operations(first as RequestName, Number(second));
  return what === 'events' ? events(Number(first)) : eventsOverHttp(Number(first), second, third);
}

process.stdout.write(`${JSON.stringify(await measure(process.argv.slice(2)))}\n`);
