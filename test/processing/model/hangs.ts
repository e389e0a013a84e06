/** Functions given to `ctx.transaction` that do not end. Where the store has connections, each holds one. */
const hanging = new WeakSet<object>();

/** A promise that does not end until its process dies. */
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

/** Whether what a function has returned is such a promise: nobody waits for it then. */
export function isHanging(returned: unknown): boolean {
  return typeof returned === 'object' && returned !== null && hanging.has(returned);
}
