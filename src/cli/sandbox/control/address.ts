/** Where a sandbox listens unless it is told otherwise. */
export const DEFAULT_PORT = 4000;

/** Its address then. */
export const DEFAULT_AT = `http://127.0.0.1:${DEFAULT_PORT}`;

/** Where a running sandbox is steered. */
export const CONTROL_PATH = '/control';

/** What may be listed of one. */
export const LISTS = ['deliveries', 'dead-letters', 'orders', 'webhooks', 'keys', 'faults', 'stock'] as const;
