/**
 * The operators' page. Mount this page in a Hono app or with an adapter's `pageHandler`, or run `hookbox ui`.
 *
 * @module
 */
import type { Hono } from 'hono';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { ConfigurationError, HookboxError, isInstance, nameOf } from '../errors.ts';
import { isUrl } from '../host/postgres-url.ts';
import { performance } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import { assertOptions, nested, type RulesFor } from '../option-rules.ts';
import { createMask } from '../ops/body/mask.ts';
import { readiness, type Readiness } from '../ops/health.ts';
import { metrics } from '../ops/metrics.ts';
import { operationsOf } from '../ops/operations-of.ts';
import type { ReplayOptions } from '../ops/replay.ts';
import { signBody } from '../signing/signature.ts';
import { actRoutes, groupRoutes, pauseRoutes } from './acts/act-routes.ts';
import { replayRoute } from './acts/replay-route.tsx';
import { downloadRoutes } from './acts/download-routes.ts';
import { flashOf } from './acts/flash.ts';
import { backupRoute, maintenanceRoutes } from './acts/maintenance-routes.ts';
import { watchChanges, liveStreams } from './live-updates.ts';
import { withoutEmpty } from './parts/list-query.tsx';
import { inTurn } from './safety/visitor-queue.ts';
import { auditScreen } from './screens/audit-screen.tsx';
import { bulkScreen, bulksScreen } from './screens/bulk-screen.tsx';
import { deadEventsScreen } from './screens/dead-events-screen.tsx';
import { eventScreen } from './screens/event-screen.tsx';
import { eventsScreen } from './screens/events-screen.tsx';
import { healthScreen } from './screens/health-screen.tsx';
import { maintenanceScreen } from './screens/maintenance-screen.tsx';
import { overviewScreen } from './screens/overview-screen.tsx';
import { pausedScreen } from './screens/paused-screen.tsx';
import { rejectedScreen } from './screens/rejected-screen.tsx';
import { lineHref } from './screens/search-line.ts';
import { suggestionsFor } from './screens/suggestions.ts';
import { createFrame, type PageEnv } from './frame.tsx';
import { type PageOptions, PAGE_OPTIONS } from './page-options.ts';
import { keyOf, createShell, OPERATORS_LOOK } from './shell.tsx';
import type { Operated, Screen, Visit } from './visit.ts';

export type { Page } from './mounting.ts';
export type { Operated, Visitor } from './visit.ts';

/** The options of {@link opsPage}. */
export interface OpsPageOptions extends PageOptions {
  /**
   * Body fields that the page hides, such as `data.customer.email` or `data.items[].name`. The page shows `•••` in
   * their place, does not search them, and offers no export or backup. Errors of handlers and entity names, such as
   * `order:mer_7:ord_42`, stay visible.
   */
  readonly mask?: readonly string[];
  /**
   * The path or URL of the inbox, for the commands that the page shows. The user and password in a URL are not shown.
   */
  readonly db?: string;
  /**
   * The Postgres schema for the commands that the page shows.
   *
   * @defaultValue the schema of the inbox
   */
  readonly schema?: string;
  /**
   * The folder that holds a backup while it is downloaded. The folder must exist and have room for a copy of the inbox.
   *
   * @defaultValue the operating system's folder for temporary files
   */
  readonly backupFolder?: string;
  /**
   * Lets operators replay an event: the server sends it to an address, signed with `secret`. Addresses on other machines
   * than the server need their host in `allow`. A page with `mask` does not offer it.
   */
  readonly replay?: Pick<ReplayOptions, 'allow'> & { readonly secret: string | Uint8Array };
}

const REPLAY: RulesFor<NonNullable<OpsPageOptions['replay']>> = { secret: true, allow: 'list' };

const OPTIONS: RulesFor<OpsPageOptions> = {
  ...PAGE_OPTIONS,
  mask: 'list',
  db: true,
  schema: true,
  backupFolder: true,
  replay: nested(REPLAY),
};

/**
 * Creates the operators' page. The page shows stored events, explains why some are stuck, and lets operators rerun
 * them. Each action is also a function of `hookbox/ops` and a command. The audit records each action.
 *
 * @param operated - a receiver, or `{ inbox }`
 * @throws ConfigurationError `INVALID_OPTION` if neither a login nor `unsafeOpen` is set, for an invalid option, or for
 * an inbox without `operations`, such as `memoryInbox()`
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { createReceiver } from 'hookbox';
 * import { opsPage } from 'hookbox/ops/page';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const receiver = createReceiver({ secret: 'a signing secret', inbox: sqliteInbox('shop.db') });
 * const page = opsPage(receiver, {
 *   // Check your own login here: return an operator, a viewer, or null.
 *   authorize: (request) => (request.headers.get('x-shop-user') === 'ada' ? { role: 'operator', name: 'ada' } : null),
 *   hosts: ['ops.shop.example'],
 *   mask: ['data.customer.email'],
 * });
 * const app = new Hono().route('/ops', page);
 * console.log((await app.request('/ops/health/live')).status); // 200
 * await receiver.close();
 * await receiver.inbox.close();
 * ```
 */
export function opsPage(operated: Operated, options: OpsPageOptions = {}): Hono {
  assertOptions('opsPage', options, OPTIONS);
  if (typeof operated !== 'object' || operated === null || !('inbox' in operated)) {
    throw new ConfigurationError('INVALID_OPTION', 'opsPage needs a receiver, or { inbox }, as its first argument.');
  }
  const { inbox } = operated;
  operationsOf(inbox);
  if (options.replay !== undefined) signBody('', options.replay.secret); // throws for an invalid secret
  const gone = new AbortController();
  const until = AbortSignal.any([gone.signal, ...(operated.closing === undefined ? [] : [operated.closing])]);
  const live = liveStreams(watchChanges(inbox, { closed: () => gone.abort() }), { until });

  const frame = createFrame(options, {
    look: OPERATORS_LOOK,
    flashOf,
    site: options.title ?? 'hookbox',
    live,
    openRoutes: (page) => healthRoutes(page, inbox),
  });
  const { page } = frame;
  const named = { db: anywhere(options.db), schema: options.schema ?? inbox.schema };
  const shell = createShell(frame, operated, createMask(options.mask), named, options.replay);
  page.onError((failure, c) => {
    // The message of any other error may quote a body or name a path.
    const said = isInstance(failure, HookboxError)
      ? failure.message
      : `The request failed with ${nameOf(failure)}. The page hides the message, because it may quote a body or a path.`;
    const busy = isInstance(failure, HookboxError) && failure.name === 'InboxUnavailableError';
    return frame.problem(c, busy ? 503 : 500, 'Request failed', said);
  });
  page.use('*', inTurn(frame));

  const screens: Readonly<Record<string, (visit: Visit) => Promise<Screen>>> = {
    '/': overviewScreen,
    '/events': eventsScreen,
    '/dead': deadEventsScreen,
    '/rejected': rejectedScreen,
    '/bulks': bulksScreen,
    '/paused': pausedScreen,
    '/audit': auditScreen,
    '/health': healthScreen,
    '/maintenance': (visit) => maintenanceScreen(visit),
  };
  for (const [path, screen] of Object.entries(screens)) {
    page.get(path, async (c) => {
      const visit = shell.visitOf(c);
      // Forms send empty fields, which make a URL hard to share.
      const query = withoutEmpty(visit.url);
      if (query !== null) return c.redirect(`${visit.base}${path === '/' && visit.base !== '' ? '' : path}${query}`);
      const href = path === '/events' ? await lineHref(visit) : null;
      if (href !== null) return c.redirect(href);
      return shell.show(c, await screen(visit));
    });
  }
  page.get('/suggestions', async (c) => c.json(await suggestionsFor(shell.visitOf(c), c.req.query('q') ?? '')));
  page.get('/events/:endpoint/:id', async (c) => shell.show(c, await eventScreen(shell.visitOf(c), keyOf(c))));
  page.get('/bulks/:id{[0-9]{1,15}}', async (c) => {
    return shell.show(c, await bulkScreen(shell.visitOf(c), Number(c.req.param('id'))));
  });

  for (const addRoutes of [actRoutes, replayRoute, groupRoutes, pauseRoutes, maintenanceRoutes, downloadRoutes])
    addRoutes(shell);
  backupRoute(shell, options.backupFolder ?? tmpdir());

  page.get('/metrics', async (c) => {
    const { text, contentType } = await metrics(shell.visitOf(c).operated.inbox);
    return c.body(text, 200, { 'Content-Type': contentType });
  });

  return frame.finished();
}

/** Commands are run in other folders, so they need the whole path. */
function anywhere(db: string | undefined): string | undefined {
  return db === undefined || isUrl(db) ? db : resolve(db);
}

/** One test write answers all probes of a second, because probes need no login. */
const FRESH_MS = 1_000;

/** Probes have no credentials and no host name, so these routes are open, and show no names or figures. */
function healthRoutes(page: Hono<PageEnv>, inbox: AnyInbox): void {
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
