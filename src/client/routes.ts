/** The method and path of an operation (interface 4). */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** `{name}` stands for a parameter. */
  readonly path: `/${string}`;
}

/** The twelve operations. The client sends requests by this table, and the sandbox routes by it. */
export const ROUTES = {
  createCart: { method: 'POST', path: '/cart' },
  getCart: { method: 'GET', path: '/cart/{id}' },
  updateCart: { method: 'PUT', path: '/cart/{id}' },
  addCartItem: { method: 'POST', path: '/cart/{id}/item' },
  updateCartItem: { method: 'PUT', path: '/cart/{cartId}/item/{itemId}' },
  createOrder: { method: 'POST', path: '/order' },
  submitOrder: { method: 'POST', path: '/order/{orderId}/submit' },
  createSetupIntent: { method: 'POST', path: '/payment-method/setup-intent' },
  listPaymentMethods: { method: 'GET', path: '/payment-method' },
  listMerchants: { method: 'GET', path: '/merchant' },
  getCategory: { method: 'GET', path: '/merchant/{merchantId}/category/{id}' },
  searchProducts: { method: 'GET', path: '/product' },
} as const satisfies Readonly<Record<string, Route>>;

export type OperationName = keyof typeof ROUTES;
