import { ConfigurationError } from '../../errors.ts';
import { parseInstant } from '../../events/instant.ts';
import { type EventKey, eventStates } from '../../inbox/event.ts';
import type { Act, ActResult, Bulk, By } from '../../inbox/operator/acts.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { hasEnded } from '../../inbox/rules/bulks.ts';
import { FASTEST_RATE, getBulk, pauseBulk, previewBulk, runBulk, type RunBulkOptions } from '../../ops/bulks.ts';
import { discardEvents, rerunEvents, retryEventsNow, type ShownEvents } from '../../ops/act-on-events.ts';
import { deadGroups } from '../../ops/find.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { pausedInWords, pausedTypes, pauseType, unseenInWords } from '../../ops/pauses.ts';
import { plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { readFilter, eventHref } from '../parts/filter-fields.ts';
import { byOf, fieldOf, fieldsOf, postedForm } from '../safety/posted-form.ts';
import { begunHref } from '../screens/bulk-screen.tsx';
import { pausedScreen } from '../screens/paused-screen.tsx';
import { keyOf, type Shell } from '../shell.tsx';
import { chosenExport } from './download-routes.ts';
import { type FlashCode } from './flash.ts';
import type { PageContext } from '../frame.tsx';

const MAX_FORM_BYTES = 256 * 1024;

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
        const changed = changedSince(act, c.get('form'), await operationsOf(inbox).summary(key));
        if (changed !== null) return hasChanged(shell, c, 'event', changed);
      }
      const code = result === 'done' ? DONE[act] : NOT_DONE[result];
      return shell.goTo(c, eventHref('', key), code);
    });
  }

  page.post('/bulks', posted, async (c) => {
    const form = c.get('form');
    // The form of a list also has the buttons of its export.
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
    const rate = Number(given);
    if (given !== '' && (!/^\d+$/.test(given) || rate < 1 || rate > FASTEST_RATE)) {
      const sentence = `The rate must be a whole number from 1 to ${FASTEST_RATE}. Nothing was done.`;
      return shell.problem(c, 400, 'Invalid rate', sentence);
    }
    const bulk = await getBulk(inbox, id);
    if (bulk === null) return noSuchBulk(c);
    const href = `${shell.visitOf(c).base}/bulks/${id}`;
    if (hasEnded(bulk)) return c.redirect(href, 303);
    // Otherwise another operator is running it, at their rate.
    if (bulk.state !== 'running' || bulk.stopped !== null) {
      // The run sleeps until its next batch is due, and has not noticed the pause yet.
      if (bulk.state === 'paused') await runs.get(id)?.end();
      // Otherwise the next screen would call it stopped.
      if (bulk.stopped !== null)
        await operationsOf(inbox)
          .reportBulk(id, false)
          .catch(() => {});
      begin(id, byOf(shell, c), given === '' ? {} : { ratePerSecond: rate });
    }
    return c.redirect(begunHref(href), 303);
  });

  page.post('/bulks/:id{[0-9]{1,15}}/pause', posted, async (c) => {
    const id = Number(c.req.param('id'));
    const before = await getBulk(inbox, id);
    if (before === null) return noSuchBulk(c);
    const { state } = before.state === 'running' ? await pauseBulk(inbox, id, byOf(shell, c)) : before;
    if (before.state === 'running' && state === 'paused') return shell.goTo(c, `/bulks/${id}`, 'bulk-paused');
    return bulkHasChanged(c, state);
  });

  page.post('/bulks/:id{[0-9]{1,15}}/cancel', posted, async (c) => {
    const id = Number(c.req.param('id'));
    const before = await getBulk(inbox, id);
    if (before === null) return noSuchBulk(c);
    const shown = fieldOf(c.get('form'), 'state') || before.state;
    if (shown !== before.state || hasEnded(before)) return bulkHasChanged(c, before.state);
    const { state } = await operationsOf(inbox).cancelBulk(id, byOf(shell, c), before.state);
    if (state !== 'cancelled') return bulkHasChanged(c, state);
    return shell.goTo(c, `/bulks/${id}`, 'cancelled');
  });

  const runs = new Map<number, { readonly end: () => Promise<void> }>();

  /** The inbox has its progress, and an operator can resume a run that has stopped. */
  function begin(id: number, by: By, rate: Pick<RunBulkOptions, 'ratePerSecond'>): void {
    if (runs.has(id)) return;
    const control = new AbortController();
    const run = runBulk(inbox, id, by, { ...naming, ...rate, signal: control.signal })
      .catch(() => {})
      .then(() => void runs.delete(id));
    runs.set(id, {
      end() {
        control.abort();
        return run;
      },
    });
  }

  function bulkHasChanged(c: PageContext, state: Bulk['state']): Promise<Response> {
    return hasChanged(
      shell,
      c,
      'bulk action',
      `The bulk action changed after you opened the page: it is ${state} now.`,
    );
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

/** The response if the form showed an earlier state. */
function hasChanged(shell: Shell, c: PageContext, what: string, sentence: string): Promise<Response> {
  const said = `${sentence} Nothing was done. Go back and reload the page.`;
  return shell.problem(c, 409, `The ${what} has changed`, said);
}

/** `null` if the event has not changed since the form was shown. */
function changedSince(act: Act, form: FormData, now: EventSummary | null): string | null {
  const { states, attempts } = shownIn(form);
  if (states === undefined || now === null) return null;
  const [shown = ''] = states;
  if (shown !== now.state) return `The event changed from ${shown} to ${now.state} after you opened the page.`;
  if (attempts !== undefined && attempts !== now.attempts) {
    return `The event was handled again after you opened the page, and is ${now.state} after ${plural(now.attempts, 'attempt')}.`;
  }
  return act === 'retry-now' ? 'The event became due after you opened the page.' : null;
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
      const at = timeShown(form, 'at');
      if (c.req.param('act') === 'reopen') {
        const removed = await operationsOf(inbox).reopenGroup(fingerprint, by, at);
        if (removed !== null) return shell.goTo(c, '/dead', 'reopened');
        return await hasChanged(
          shell,
          c,
          'group',
          'Its acknowledgement was removed or replaced after you opened the page.',
        );
      }
      const link = fieldOf(form, 'link');
      const count = fieldOf(form, 'count');
      const options = { ...(link !== '' && { link }), ...(/^\d{1,9}$/.test(count) && { count: Number(count) }) };
      const shown = fieldOf(form, 'at') === 'none' ? null : at;
      const { result } = await operationsOf(inbox).acknowledgeGroup(fingerprint, by, options, shown);
      if (result === 'done') return shell.goTo(c, '/dead', 'acknowledged');
      const sentence = result === 'unknown' ? 'The group has no dead events now.' : await changedGroup(fingerprint);
      return await hasChanged(shell, c, 'group', sentence);
    } catch (failure) {
      if (!(failure instanceof ConfigurationError)) throw failure;
      return shell.problem(c, 400, 'Cannot acknowledge', `${failure.message} Nothing was done.`);
    }
  });

  async function changedGroup(fingerprint: string): Promise<string> {
    const group = (await deadGroups(inbox)).find((one) => one.fingerprint === fingerprint);
    if (group === undefined || group.open) return 'More events became dead after you opened the page.';
    return `${oneLine(group.acknowledged?.actor ?? '', 60)} acknowledged the group after you opened the page.`;
  }
}

function timeShown(form: FormData, name: string): Date | undefined {
  const ms = parseInstant(fieldOf(form, name))?.ms;
  return ms === undefined ? undefined : new Date(ms);
}

export function pauseRoutes(shell: Shell): void {
  const { inbox } = shell.operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);

  shell.page.post('/paused/:act{pause|resume}', posted, async (c) => {
    const form = c.get('form');
    const type = fieldOf(form, 'type');
    const endpoint = fieldOf(form, 'endpoint');
    const by = byOf(shell, c);
    try {
      if (c.req.param('act') === 'pause') {
        const unseen = fieldOf(form, 'unseen') === 'yes';
        const fault = unseen ? null : await unseenInWords(inbox, { type, endpoint });
        if (fault !== null) {
          const unseenType = { type, endpoint, reason: fieldOf(form, 'reason'), fault };
          return shell.show(c, await pausedScreen(shell.visitOf(c), unseenType));
        }
        const { changed, pause } = await pauseType(inbox, type, by, { endpoint, unseen: true });
        if (changed) return shell.goTo(c, '/paused', 'paused');
        return await hasChanged(shell, c, 'type', `${pausedInWords(pause)}.`);
      }
      const ended = await operationsOf(inbox).resumeType({ endpoint, type }, by, timeShown(form, 'since'));
      if (ended !== null) return shell.goTo(c, '/paused', 'resumed');
      const now = (await pausedTypes(inbox)).find((pause) => pause.type === type && pause.endpoint === endpoint);
      const sentence =
        now === undefined
          ? 'The type was resumed after you opened the page.'
          : `The type was paused again: ${pausedInWords(now)}.`;
      return await hasChanged(shell, c, 'type', sentence);
    } catch (failure) {
      if (!(failure instanceof ConfigurationError)) throw failure;
      return shell.problem(c, 400, 'Cannot pause', `${failure.message} Nothing was done.`);
    }
  });
}
