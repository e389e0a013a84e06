import type { Hono } from 'hono';
import { ConfigurationError } from '../../errors.ts';
import { type EventKey, eventStates } from '../../inbox/event.ts';
import type { Act, ActResult, By } from '../../inbox/operator/acts.ts';
import { hasEnded } from '../../inbox/rules/bulks.ts';
import { type InStates, discardEvents, rerunEvents, retryEventsNow } from '../../ops/acts.ts';
import { cancelBulk, getBulk, previewBulk, runBulk, USUAL_RATE } from '../../ops/bulks.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { pauseType, resumeType, type PauseOptions } from '../../ops/pauses.ts';
import { begunHref } from '../screens/bulk-screen.tsx';
import { readFilter, eventHref } from '../parts/filter-fields.ts';
import { byOf, fieldOf, fieldsOf, postedForm } from '../safety/posted-form.ts';
import { keyOf, type PageContext, type PageEnv, type Shell } from '../shell.tsx';
import { chosenExport } from './download-routes.ts';
import { withFlash, type FlashCode } from './flash.ts';

const MAX_FORM_BYTES = 256 * 1024;
const FASTEST = 100_000;

const SAID = {
  unknown: 'unknown',
  changed: 'not-needed',
  'not needed': 'not-needed',
  'still invalid': 'still-invalid',
  pruned: 'pruned',
} as const satisfies Record<Exclude<ActResult, 'done'>, FlashCode>;

/** Acts on one event, and on all that a filter finds. Each answers with the page to look at next. */
export function actRoutes(page: Hono<PageEnv>, shell: Shell): void {
  const { inbox, entity } = shell.operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);
  const naming = entity === undefined ? {} : { entity };

  page.post('/events/:endpoint/:id/rerun', posted, async (c) => {
    const key = keyOf(c);
    const form = c.get('form');
    const force = fieldOf(form, 'force') === 'yes';
    const options = { ...naming, ...shownIn(form), force };
    const { results } = await rerunEvents(inbox, [key], byOf(shell, c, form), options);
    return toEvent(c, key, results[0]?.result, 'rerun');
  });

  page.post('/events/:endpoint/:id/discard', posted, async (c) => {
    const key = keyOf(c);
    const form = c.get('form');
    const { results } = await discardEvents(inbox, [key], byOf(shell, c, form), shownIn(form));
    return toEvent(c, key, results[0]?.result, 'discarded');
  });

  page.post('/events/:endpoint/:id/retry-now', posted, async (c) => {
    const key = keyOf(c);
    const form = c.get('form');
    const { results } = await retryEventsNow(inbox, [key], byOf(shell, c, form), shownIn(form));
    return toEvent(c, key, results[0]?.result, 'retried-now');
  });

  page.post('/bulks', posted, async (c) => {
    const form = c.get('form');
    // A list of events has one form for what is chosen, and an export is one of its buttons.
    if (form.has('format')) return chosenExport(c, shell);
    const act = actOf(fieldOf(form, 'act'));
    if (act === null) {
      const known = 'The action must be one of: rerun, discard, retry-now. Nothing was done.';
      return shell.problem(c, 400, 'Unknown action', known);
    }
    // Without any of them it would be an action on all events.
    if (fieldOf(form, 'chosen') !== '' && !form.has('event')) {
      return shell.problem(c, 400, 'Nothing selected', 'First select events with their checkboxes. Nothing was done.');
    }
    const { filter, problems } = readFilter(fieldsOf(form), shell.visitOf(c).now);
    const refused = shell.mask.refusal(filter);
    const wrong = refused === null ? problems : [...problems, refused];
    if (wrong.length > 0) return shell.problem(c, 400, 'Invalid filter', wrong.join(' '));
    const bulk = await previewBulk(inbox, act, filter, byOf(shell, c, form), {
      force: fieldOf(form, 'force') === 'yes',
      signal: c.req.raw.signal,
    });
    return c.redirect(`${shell.baseOf(c)}/bulks/${bulk.id}`, 303);
  });

  page.post('/bulks/:id{[0-9]{1,15}}/run', posted, async (c) => {
    const id = Number(c.req.param('id'));
    const form = c.get('form');
    const rate = rateOf(fieldOf(form, 'rate'));
    if (rate === null) {
      return shell.problem(
        c,
        400,
        'Invalid rate',
        `The rate must be a whole number from 1 to ${FASTEST}. Nothing was done.`,
      );
    }
    const bulk = await getBulk(inbox, id);
    if (bulk === null) return noSuchBulk(c);
    const href = `${shell.baseOf(c)}/bulks/${id}`;
    if (hasEnded(bulk)) return c.redirect(href, 303);
    // Another operator runs it, at their own rate.
    if (bulk.state === 'running' && bulk.stopped === null) return c.redirect(begunHref(href), 303);
    // The screen that is shown next must not say that nobody runs it. What cannot be written now is said by the run
    // itself.
    if (bulk.stopped !== null)
      await operationsOf(inbox)
        .reportBulk(id, false)
        .catch(() => {});
    begin(id, byOf(shell, c, form), rate);
    return c.redirect(begunHref(href), 303);
  });

  page.post('/bulks/:id{[0-9]{1,15}}/cancel', posted, async (c) => {
    const id = Number(c.req.param('id'));
    if ((await getBulk(inbox, id)) === null) return noSuchBulk(c);
    await cancelBulk(inbox, id, byOf(shell, c, c.get('form')));
    return c.redirect(withFlash(`${shell.baseOf(c)}/bulks/${id}`, 'cancelled'), 303);
  });

  /** bulk actions that this process runs */
  const runs = new Set<number>();

  /** Nobody waits for it: its progress stands in the inbox, and whoever finds that it stands still resumes it. */
  function begin(id: number, by: By, ratePerSecond: number): void {
    if (runs.has(id)) return;
    runs.add(id);
    runBulk(inbox, id, by, { ...naming, ratePerSecond })
      // The inbox was closed, or its disk is full: the bulk action stays as far as it is.
      .catch(() => {})
      .finally(() => runs.delete(id));
  }

  async function toEvent(
    c: PageContext,
    key: EventKey,
    result: ActResult | undefined,
    done: FlashCode,
  ): Promise<Response> {
    const shown = fieldOf(c.get('form'), 'state');
    const state = result === 'done' || shown === '' ? undefined : (await operationsOf(inbox).summary(key))?.state;
    if (state !== undefined && state !== shown) {
      const sentence = `The event changed from ${shown} to ${state} after you opened the page. Nothing was done. Go back and reload the page.`;
      return shell.problem(c, 409, 'The event has changed', sentence);
    }
    const code = result === 'done' ? done : SAID[result ?? 'unknown'];
    return c.redirect(withFlash(eventHref(shell.baseOf(c), key), code), 303);
  }

  function noSuchBulk(c: PageContext): Promise<Response> {
    return shell.problem(c, 404, 'No such bulk action', 'No bulk action has this number. Nothing was done.');
  }
}

/** The state that an action is for: the one that was shown beside its button. */
function shownIn(form: FormData): InStates {
  const shown = fieldOf(form, 'state');
  const states = eventStates.filter((state) => state === shown);
  return shown === '' ? {} : { states };
}

function actOf(text: string): Act | null {
  return text === 'rerun' || text === 'discard' || text === 'retry-now' ? text : null;
}

function rateOf(text: string): number | null {
  if (text === '') return USUAL_RATE;
  const rate = Number(text);
  return /^\d+$/.test(text) && rate >= 1 && rate <= FASTEST ? rate : null;
}

const MAX_PAUSE_BYTES = 16 * 1024;

/** Pausing a type, and resuming it. Each answers with the screen that shows what is paused. */
export function pauseRoutes(page: Hono<PageEnv>, shell: Shell): void {
  const { inbox } = shell.operated;
  const posted = postedForm(shell, MAX_PAUSE_BYTES);

  page.post('/paused/pause', posted, async (c) => {
    const form = c.get('form');
    return answered(c, async () => {
      const options = { ...placeIn(form), unseen: fieldOf(form, 'unseen') === 'yes' };
      const { changed } = await pauseType(inbox, fieldOf(form, 'type'), byOf(shell, c, form), options);
      return changed ? 'paused' : 'paused-already';
    });
  });

  page.post('/paused/resume', posted, async (c) => {
    const form = c.get('form');
    return answered(c, async () => {
      const ended = await resumeType(inbox, fieldOf(form, 'type'), byOf(shell, c, form), placeIn(form));
      return ended === null ? 'not-paused' : 'resumed';
    });
  });

  async function answered(c: PageContext, act: () => Promise<FlashCode>): Promise<Response> {
    try {
      return c.redirect(withFlash(`${shell.baseOf(c)}/paused`, await act()), 303);
    } catch (failure) {
      if (!(failure instanceof ConfigurationError)) throw failure;
      return shell.problem(c, 400, 'Cannot pause', `${failure.message} Nothing was done.`);
    }
  }
}

function placeIn(form: FormData): PauseOptions {
  return { endpoint: fieldOf(form, 'endpoint') };
}
