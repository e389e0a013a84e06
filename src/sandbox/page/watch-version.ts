import { clearInterval, setInterval } from '../../host/real-timers.ts';
import type { Changes } from '../../page/live-updates.ts';
import type { Sandbox } from '../create-sandbox.ts';

const EVERY_MS = 1_000;

/** Looks once a second whether something has changed in a sandbox, for as long as there are listeners. */
export function watchVersion({ version }: Pick<Sandbox, 'version'>): Changes<{ readonly version: number }> {
  return {
    listen(listener) {
      let seen = version();
      listener({ version: seen });
      const timer = setInterval(() => {
        const is = version();
        if (is === seen) return;
        seen = is;
        listener({ version: is });
      }, EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}
