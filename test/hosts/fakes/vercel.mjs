// waitUntil of @vercel/functions: it finds the context of the request where Vercel puts it.
export function waitUntil(promise) {
  if (typeof promise?.then !== 'function') throw new TypeError('waitUntil can only be called with a Promise');
  globalThis[Symbol.for('@vercel/request-context')]?.get?.()?.waitUntil?.(promise);
}
