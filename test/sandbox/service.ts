import { test } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly data?: unknown;
    readonly messages?: unknown;
    readonly total?: unknown;
    readonly error?: Readonly<Record<string, unknown>>;
  };
}

export interface Unusual {
  readonly key?: string | null;
  readonly base?: string;
  readonly signal?: AbortSignal;
}

export interface SeenEvent {
  readonly id: string;
  readonly type: string;
  readonly created: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of a sandbox, with a receiver of its events: nothing of it knows the sources. */
export class Service implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly #events: SeenEvent[] = [];

  constructor(options: SandboxOptions = {}, create = createSandbox) {
    const to = async (request: Request): Promise<Response> => {
      this.#events.push((await request.json()) as SeenEvent);
      return new Response();
    };
    this.sandbox = create({ webhooks: [{ to, secret: 'whsec_of_a_test', as: 'fetch' }], ...options });
  }

  async call(method: string, path: string, body?: unknown, unusual: Unusual = {}): Promise<Answer> {
    const { key = this.sandbox.apiKey, base = 'http://sandbox', signal } = unusual;
    const request = new Request(`${base}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...(key !== null && { Authorization: key }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    });
    const answer = await this.sandbox.fetch(request);
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer['body'] };
  }

  async data<T = string>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.data as T;
  }

  async events(): Promise<readonly SeenEvent[]> {
    await this.sandbox.advance(0);
    return this.#events.splice(0);
  }

  async types(): Promise<readonly string[]> {
    return (await this.events()).map(({ type }) => type);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox.close();
  }
}

/** A test with a sandbox of its own, in `{ service }`. */
export const it = test.extend<{ readonly service: Service }>({
  // oxlint-disable-next-line no-empty-pattern -- vitest reads the pattern
  service: async ({}, use) => {
    await using service = new Service();
    await use(service);
  },
});

export const PIER = 'loc_bakery_pier';
export const LOAF = 'prod_country_loaf';
export const CAKE = 'prod_wedding_cake';
export const RYE = 'prod_seeded_rye';

export const NEW_CART = { user_id: 'usr_1', location_id: PIER, fulfillment_method: 'Pickup' };
export const NEW_ITEM = { product_id: LOAF, product_name: 'Country loaf', quantity: 2 };
export const NEW_ORDER = {
  customer: {
    id: 'usr_1',
    name: 'Ada Byron',
    phone_number: '+1 555 0100',
    email: 'ada@example.com',
    address: {
      city: 'San Francisco',
      region: 'CA',
      country: 'US',
      street_address: '12 Main Street',
      postal_code: '94105',
      street_address_detail: 'Floor 2',
    },
  },
  items: [{ product_id: LOAF, quantity: 2 }],
  location_id: PIER,
  fulfillment_method: 'Delivery',
  tip: 2.5,
  dropoff_instructions: 'Ring twice',
};

export async function placeOrder(service: Service, productId = LOAF, quantity = 1): Promise<string> {
  const items = [{ product_id: productId, quantity }];
  const { id } = await service.data<{ id: string }>('POST', '/order', { ...NEW_ORDER, items });
  return id;
}

export async function stockOf(service: Service, productId: string): Promise<number | undefined> {
  const found = await service.data<{ id: string; available_quantity: number; location: { id: string } }[]>(
    'GET',
    '/product?latitude=37.7993&longitude=-122.3977&distance=100',
  );
  return found.find(({ id, location }) => id === productId && location.id === PIER)?.available_quantity;
}
