import { ConfigurationError } from '../../errors.ts';
import { type EventKey, eventStates } from '../../inbox/event.ts';
import type { Act, ActResult, By } from '../../inbox/operator/acts.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { hasEnded } from '../../inbox/rules/bulks.ts';
import { cancelBulk, getBulk, pauseBulk, previewBulk, runBulk, USUAL_RATE } from '../../ops/bulks.ts';
import { discardEvents, rerunEvents, retryEventsNow, type ShownEvents } from '../../ops/act-on-events.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { acknowledgeGroup, reopenGroup } from '../../ops/acknowledge.ts';
import { pauseType, resumeType, unseenInWords } from '../../ops/pauses.ts';
import { plural } from '../../ops/words/format.ts';
import { readFilter, eventHref } from '../parts/filter-fields.ts';
import { byOf, fieldOf, fieldsOf, postedForm } from '../safety/posted-form.ts';
import { begunHref } from '../screens/bulk-screen.tsx';
import { pausedScreen } from '../screens/paused-screen.tsx';
import { keyOf, type Shell } from '../shell.tsx';
import { chosenExport } from './download-routes.ts';
import { type FlashCode } from './flash.ts';
import type { PageContext } from '../frame.tsx';

const MAX_FORM_BYTES = 256 * 1024;
const FASTEST = 100_000;

const DONE = { rerun: 'rerun', discard: 'discarded', 'retry-now': 'retried-now' } as const satisfies Record<
  Act,
  FlashCode
>;

const NOT_DONE = {
  unknown: 'unknown',
  changed: 'not-needed',
  'not needed': 'not-needed',
  'still invalid': 'still-invalid',
  pruned: 'pruned',
} as const satisfies Record<Exclude<ActResult, 'done'>, FlashCode>;

type Results = Promise<{ readonly results: readonly { readonly result: ActResult }[] }>;

export function actRoutes(shell: Shell): void {
  const { page, operated } = shell;
  const { inbox, entity } = operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);
  const naming = entity === undefined ? {} : { entity };

  const onOne: Readonly<Record<Act, (key: EventKey, by: By, form: FormData) => Results>> = {
    rerun: (key, by, form) => rerunEvents(inbox, [key], by, { ...naming, ...shownIn(form), force: isForced(form) }),
    discard: (key, by, form) => discardEvents(inbox, [key], by, shownIn(form)),
    'retry-now': (key, by, form) => retryEventsNow(inbox, [key], by, shownIn(form)),
  };
  for (const act of ['rerun', 'discard', 'retry-now'] as const) {
    page.post(`/events/:endpoint/:id/${act}`, posted, async (c) => {
      const key = keyOf(c);
      const { results } = await onOne[act](key, byOf(shell, c), c.get('form'));
      const result = results[0]?.result ?? 'unknown';
      if (result === 'changed' || result === 'not needed') {
        const sentence = changedSince(c.get('form'), await operationsOf(inbox).summary(key));
        if (sentence !== null) return shell.problem(c, 409, 'The event has changed', sentence);
      }
      const code = result === 'done' ? DONE[act] : NOT_DONE[result];
      return shell.goTo(c, eventHref('', key), code);
    });
  }

  page.post('/bulks', posted, async (c) => {
    const form = c.get('form');
    // The form of a list has the buttons of its export, too.
    if (form.has('format')) return chosenExport(c, shell);
    const act = fieldOf(form, 'act');
    if (!isAct(act)) {
      const known = 'The action must be one of: rerun, discard, retry-now. Nothing was done.';
      return shell.problem(c, 400, 'Unknown action', known);
    }
    // Without any selected event, the filter would match all events.
    if (fieldOf(form, 'chosen') !== '' && !form.has('event')) {
      return shell.problem(c, 400, 'Nothing selected', 'First select events with their checkboxes. Nothing was done.');
    }
    const { filter: read, problems } = readFilter(fieldsOf(form), shell.visitOf(c).now);
    const filter = shell.mask.narrowed(read);
    const refused = shell.mask.refusal(filter);
    const wrong = refused === null ? problems : [...problems, refused];
    if (wrong.length > 0) return shell.problem(c, 400, 'Invalid filter', wrong.join(' '));
    const options = { force: isForced(form), signal: c.req.raw.signal };
    const bulk = await previewBulk(inbox, act, filter, byOf(shell, c), options);
    return c.redirect(`${shell.visitOf(c).base}/bulks/${bulk.id}`, 303);
  });

  page.post('/bulks/:id{[0-9]{1,15}}/run', posted, async (c) => {
    const id = Number(c.req.param('id'));
    const given = fieldOf(c.get('form'), 'rate');
    const rate = given === '' ? USUAL_RATE : Number(given);
    if (!/^\d*$/.test(given) || rate < 1 || rate > FASTEST) {
      const sentence = `The rate must be a whole number from 1 to ${FASTEST}. Nothing was done.`;
      return shell.problem(c, 400, 'Invalid rate', sentence);
    }
    const bulk = await getBulk(inbox, id);
    if (bulk === null) return noSuchBulk(c);
    const href = `${shell.visitOf(c).base}/bulks/${id}`;
    if (hasEnded(bulk)) return c.redirect(href, 303);
    // Otherwise another operator runs it, at their own rate.
    if (bulk.state === 'paused' && runs.has(id)) {
      // Its run has not noticed the pause yet.
      await operationsOf(inbox).resumeBulk(id, byOf(shell, c));
    } else if (bulk.state !== 'running' || bulk.stopped !== null) {
      // So the next screen does not say that it has stopped.
      if (bulk.stopped !== null)
        await operationsOf(inbox)
          .reportBulk(id, false)
          .catch(() => {});
      begin(id, byOf(shell, c), rate);
    }
    return c.redirect(begunHref(href), 303);
  });

  page.post('/bulks/:id{[0-9]{1,15}}/pause', posted, async (c) => {
    const id = Number(c.req.param('id'));
    if ((await getBulk(inbox, id)) === null) return noSuchBulk(c);
    const { state } = await pauseBulk(inbox, id, byOf(shell, c));
    return shell.goTo(c, `/bulks/${id}`, state === 'paused' ? 'bulk-paused' : 'not-running');
  });

  page.post('/bulks/:id{[0-9]{1,15}}/cancel', posted, async (c) => {
    const id = Number(c.req.param('id'));
    if ((await getBulk(inbox, id)) === null) return noSuchBulk(c);
    await cancelBulk(inbox, id, byOf(shell, c));
    return shell.goTo(c, `/bulks/${id}`, 'cancelled');
  });

  const runs = new Set<number>();

  /** The inbox has its progress, and an operator can resume a run that has stopped. */
  function begin(id: number, by: By, ratePerSecond: number): void {
    if (runs.has(id)) return;
    runs.add(id);
    runBulk(inbox, id, by, { ...naming, ratePerSecond })
      .catch(() => {})
      .finally(() => runs.delete(id));
  }

  function noSuchBulk(c: PageContext): Promise<Response> {
    return shell.problem(c, 404, 'No such bulk action', 'No bulk action has this number. Nothing was done.');
  }
}

function shownIn(form: FormData): ShownEvents {
  const shown = fieldOf(form, 'state');
  const attempts = fieldOf(form, 'attempts');
  return {
    ...(shown !== '' && { states: eventStates.filter((state) => state === shown) }),
    ...(/^\d{1,9}$/.test(attempts) && { attempts: Number(attempts) }),
  };
}

/** `null` if the event is as the form showed it. */
function changedSince(form: FormData, now: EventSummary | null): string | null {
  const { states, attempts } = shownIn(form);
  if (states === undefined || now === null) return null;
  const [shown = ''] = states;
  const again = 'Nothing was done. Go back and reload the page.';
  if (shown !== now.state) {
    return `The event changed from ${shown} to ${now.state} after you opened the page. ${again}`;
  }
  if (attempts === undefined || attempts === now.attempts) return null;
  return `The event was handled again after you opened the page, and is ${now.state} after ${plural(now.attempts, 'attempt')}. ${again}`;
}

function isForced(form: FormData): boolean {
  return fieldOf(form, 'force') === 'yes';
}

function isAct(text: string): text is Act {
  return Object.hasOwn(DONE, text);
}

export function groupRoutes(shell: Shell): void {
  const { inbox } = shell.operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);

  shell.page.post('/dead/:act{acknowledge|reopen}', posted, async (c) => {
    const form = c.get('form');
    const fingerprint = fieldOf(form, 'fingerprint');
    const by = byOf(shell, c);
    try {
      if (c.req.param('act') === 'reopen') {
        const removed = await reopenGroup(inbox, fingerprint, by);
        return shell.goTo(c, '/dead', removed === null ? 'not-acknowledged' : 'reopened');
      }
      const link = fieldOf(form, 'link');
      const shown = fieldOf(form, 'count');
      const { result } = await acknowledgeGroup(inbox, fingerprint, by, {
        ...(link !== '' && { link }),
        ...(/^\d{1,9}$/.test(shown) && { count: Number(shown) }),
      });
      if (result !== 'changed') return shell.goTo(c, '/dead', result === 'done' ? 'acknowledged' : 'no-group');
    } catch (failure) {
      if (!(failure instanceof ConfigurationError)) throw failure;
      return shell.problem(c, 400, 'Cannot acknowledge', `${failure.message} Nothing was done.`);
    }
    const sentence =
      'More events became dead after you opened the page. Nothing was done. Go back and reload the page.';
    return shell.problem(c, 409, 'The group has grown', sentence);
  });
}

export function pauseRoutes(shell: Shell): void {
  const { inbox } = shell.operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);

  shell.page.post('/paused/:act{pause|resume}', posted, async (c) => {
    const form = c.get('form');
    const type = fieldOf(form, 'type');
    const endpoint = fieldOf(form, 'endpoint');
    const by = byOf(shell, c);
    let code: FlashCode;
    try {
      if (c.req.param('act') === 'pause') {
        const unseen = fieldOf(form, 'unseen') === 'yes';
        const doubt = unseen ? null : await unseenInWords(inbox, { type, endpoint });
        if (doubt !== null) {
          const asked = { type, endpoint, reason: fieldOf(form, 'reason'), doubt };
          return shell.show(c, await pausedScreen(shell.visitOf(c), asked));
        }
        const { changed } = await pauseType(inbox, type, by, { endpoint, unseen: true });
        code = changed ? 'paused' : 'paused-already';
      } else {
        code = (await resumeType(inbox, type, by, { endpoint })) === null ? 'not-paused' : 'resumed';
      }
    } catch (failure) {
      if (!(failure instanceof ConfigurationError)) throw failure;
      return shell.problem(c, 400, 'Cannot pause', `${failure.message} Nothing was done.`);
    }
    return shell.goTo(c, '/paused', code);
  });
}
