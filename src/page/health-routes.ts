import type { Hono } from 'hono';
import type { AnyInbox } from '../inbox/contract.ts';
import { performance } from '../host/real-timers.ts';
import { readiness, type Readiness } from '../ops/health.ts';
import type { PageEnv } from './shell.tsx';

/** Anybody may ask, so many who ask at once, or one after the other, are answered by one write. */
const FRESH_MS = 1_000;

/**
 * `/health/live` says that the process answers, `/health/ready` that a delivery could be stored. Probes bring no credentials and
 * know no host name, so these two are open, and tell nothing but that, and what there is to see to by its kind: no name, no figure.
 */
export function healthRoutes(page: Hono<PageEnv>, inbox: AnyInbox): void {
  let latest: Promise<Readiness> | undefined;
  let endsAt = 0;

  page.get('/health/live', (c) => c.json({ live: true }));
  page.get('/health/ready', async (c) => {
    if (latest === undefined || performance.now() > endsAt) {
      latest = readiness(inbox);
      endsAt = Infinity;
      await latest.finally(() => {
        endsAt = performance.now() + FRESH_MS;
      });
    }
    const health = await latest;
    if (health.ready) {
      const warnings = [...new Set(health.warnings.map(({ alarm }) => alarm))];
      const isBlind = health.unwatched !== undefined;
      return c.json({ ready: true, ...(warnings.length > 0 && { warnings }), ...(isBlind && { watched: false }) });
    }
    return c.json({ ready: false, code: health.code }, 503);
  });
}
