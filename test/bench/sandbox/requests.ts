/** A request to a sandbox, as both ways of asking it make it. */
export interface SandboxRequest {
  readonly title: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly status: number;
}

/** One operation that writes, with its event, and one that reads. */
export const requests = {
  createOrder: {
    title: 'Create Order',
    method: 'POST',
    path: '/order',
    body: JSON.stringify({
      customer: { id: 'usr_1', name: 'Ada Byron' },
      items: [{ product_id: 'prod_country_loaf', quantity: 2 }],
      location_id: 'loc_bakery_pier',
      fulfillment_method: 'Pickup',
    }),
    status: 201,
  },
  listMerchants: { title: 'List Merchants', method: 'GET', path: '/merchant', status: 200 },
} as const satisfies Readonly<Record<string, SandboxRequest>>;

/** One of them. */
export type RequestName = keyof typeof requests;

/** As bytes on a connection. */
export function rawRequest({ method, path, body = '' }: SandboxRequest, apiKey: string): string {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: ${apiKey}`,
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
