/** A timer that keeps no process alive. On Cloudflare Workers timers are numbers, and keep nothing alive anyway. */
export function unheld<T extends { unref?(): unknown } | number>(timer: T): T {
  if (typeof timer === 'object') timer.unref?.();
  return timer;
}
