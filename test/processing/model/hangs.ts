/** Functions given to `ctx.transaction` that do not end. On Postgres, each holds a connection. */
const hanging = new WeakSet<object>();

export interface Hang {
  readonly promise: Promise<never>;
  end(): void;
}

export function newHang(): Hang {
  const { promise, reject } = Promise.withResolvers<never>();
  hanging.add(promise);
  promise.catch(() => {});
  return { promise, end: () => reject(new Error('the process has died')) };
}

export function isHanging(returned: unknown): boolean {
  return typeof returned === 'object' && returned !== null && hanging.has(returned);
}
