/** A timer that does not keep the process alive. On Cloudflare Workers, timers are numbers. */
export function unrefTimer<T extends { unref?(): unknown } | number>(timer: T): T {
  if (typeof timer === 'object') timer.unref?.();
  return timer;
}
