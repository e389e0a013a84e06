import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { createSandbox, type OperationName, type Sandbox } from '../../../src/sandbox/index.ts';
import { scratchFolder } from '../../helpers/scratch-folder.ts';
import type { Document } from './described.ts';
import { prismBefore } from './prism.ts';
import { KnownId, type RandomCall } from './random-calls.ts';

export interface Held {
  readonly violations: readonly string[];
  readonly statuses: ReadonlyMap<number, number>;
}

const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 422, 429]);

/**
 * Sends each call to a sandbox through Prism, which knows the document. Calls that fit it must come back without a violation;
 * those that do not must be held back by Prism, and refused by the sandbox with an answer that fits.
 */
export async function heldByPrism(document: Document, calls: readonly RandomCall[]): Promise<Held> {
  const sandbox = createSandbox({ plan: { perTenSeconds: 40 } });
  const server = serve({ fetch: sandbox.fetch, port: 0, hostname: '127.0.0.1' });
  await once(server, 'listening');
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(scratchFolder(), 'openapi.json');
  writeFileSync(file, JSON.stringify(document));
  const violations: string[] = [];
  const statuses = new Map<number, number>();
  try {
    await using strict = await prismBefore(upstream, file, { errors: true });
    await using lenient = await prismBefore(upstream, file);
    const ids = new KnownIds(sandbox);
    for (const call of calls) {
      await sandbox.advance(200);
      if (call.outage !== null) sandbox.faults.add({ ...call.outage, operation: nameOf(call) });
      const answer = await send(call, strict.base, ids);
      const found = answer.headers.get('sl-violations');
      const isHeldBack = answer.headers.get('content-type')?.includes('problem+json') ?? false;
      const told = `${nameOf(call)} ${answer.url}, broken: ${call.broken ?? 'nothing'}, ${answer.status}`;
      if (call.broken === null) {
        if (isHeldBack || found !== null) violations.push(`${told}: ${found ?? (await answer.text())}`);
        else {
          const body = (await answer.json()) as Answered;
          if (isAboutItsForm(body)) violations.push(`${told}: the sandbox refuses it: ${JSON.stringify(body)}`);
          ids.learn(call, answer, body);
        }
        count(statuses, answer.status);
      } else {
        if (!isHeldBack) violations.push(`${told}: the document allows it`);
        const passed = await send(call, lenient.base, ids);
        const all = JSON.parse(passed.headers.get('sl-violations') ?? '[]') as readonly {
          location: readonly string[];
        }[];
        const ofAnswer = all.filter(({ location }) => location[0] === 'response');
        if (ofAnswer.length > 0) violations.push(`${told}: ${JSON.stringify(ofAnswer)}`);
        if (!REFUSED.has(passed.status)) violations.push(`${told}: the sandbox allows it (${passed.status})`);
        count(statuses, passed.status);
      }
      sandbox.faults.remove();
    }
  } finally {
    server.close();
    await sandbox.close();
  }
  return { violations, statuses };
}

interface Answered {
  readonly data?: unknown;
  readonly error?: { readonly code?: string; readonly details?: readonly { readonly field: string }[] };
}

/** What depends on more than a schema says: the status of a new cart (A1), and what merchants are sorted by (A7). */
const BEYOND_SCHEMAS: ReadonlySet<string> = new Set(['status', 'sort']);

function isAboutItsForm({ error = {} }: Answered): boolean {
  if (error.code === 'MISSING_REQUIRED_FIELD') return true;
  return error.code === 'VALIDATION_ERROR' && !error.details?.every(({ field }) => BEYOND_SCHEMAS.has(field));
}

function nameOf({ operation }: RandomCall): OperationName {
  return operation.operationId as OperationName;
}

function count(statuses: Map<number, number>, status: number): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

function send({ operation, params, query, body, key }: RandomCall, base: string, ids: KnownIds): Promise<Response> {
  const real = ids.forCall(params);
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(real[name])));
  const search = new URLSearchParams(query.map(([name, value]): [string, string] => [name, String(ids.real(value))]));
  const authorization = ids.keys[key];
  return fetch(`${base}${path}?${search.toString()}`, {
    method: operation.method,
    headers: {
      ...(authorization !== null && { Authorization: authorization }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(ids.real(body)) }),
  });
}

class KnownIds {
  readonly keys: Readonly<Record<RandomCall['key'], string | null>>;
  readonly #ids = new Map<string, string[]>();
  readonly #cartOf = new Map<string, string>();

  constructor(sandbox: Sandbox) {
    const lacking = sandbox.keys.create({ permissions: [] }).key;
    this.keys = { all: sandbox.apiKey, lacking, wrong: 'a key of nobody', none: null };
    for (const { locationId, productId } of sandbox.stock.list()) {
      this.#note('location', locationId);
      this.#note('product', productId);
    }
    for (const id of ['mer_bakery', 'mer_books', 'mer_garden']) this.#note('merchant', id);
    for (const id of ['pm_ok', 'pm_ok', 'pm_ok', 'pm_declined', 'pm_expired']) this.#note('payment_method', id);
    this.#note('category', 'cat_bread');
  }

  real(value: unknown): unknown {
    if (value instanceof KnownId) {
      const known = this.#ids.get(value.of) ?? ['none_yet'];
      return known[value.at % known.length];
    }
    if (Array.isArray(value)) return value.map((one) => this.real(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.real(one)]));
  }

  forCall(params: RandomCall['params']): Readonly<Record<string, unknown>> {
    const real = this.real(params) as Record<string, unknown>;
    const cart = this.#cartOf.get(String(real['itemId']));
    return cart === undefined ? real : { ...real, cartId: cart };
  }

  learn(call: RandomCall, answer: Response, { data }: Answered): void {
    if (answer.status !== 201) return;
    const name = nameOf(call);
    if (name === 'createCart') this.#note('cart', String(data));
    if (name === 'createOrder') this.#note('order', (data as { readonly id: string }).id);
    if (name === 'addCartItem') {
      this.#note('item', String(data));
      this.#cartOf.set(String(data), new URL(answer.url).pathname.split('/')[2] ?? '');
    }
  }

  #note(of: string, id: string): void {
    this.#ids.set(of, [...(this.#ids.get(of) ?? []), id]);
  }
}
