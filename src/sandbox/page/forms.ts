import { createHash } from 'node:crypto';
import { setTimeout } from '../../host/real-timers.ts';
import { age, number, plural } from '../../ops/words/format.ts';
import { notices, type Notices } from '../../page/acts/flash.ts';
import type { Frame, PageContext } from '../../page/frame.tsx';
import { fieldOf, postedForm, fieldsOf } from '../../page/safety/posted-form.ts';
import type { Screen } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { SandboxVisit } from './parts.tsx';

const MAX_FORM_BYTES = 64 * 1024;

/** @param refused - the refused form as it was filled in; `null` if the form has no screen */
export function actRoutes(
  acts: Readonly<Record<string, Act>>,
  frame: Frame,
  visitOf: (c: PageContext) => SandboxVisit,
  refused: (visit: SandboxVisit, failure: unknown) => Screen | null,
): void {
  const posted = postedForm(frame, MAX_FORM_BYTES);
  const once = onceEach();

  for (const [path, act] of Object.entries(acts)) {
    frame.page.post(path, posted, async (c) => {
      const form = c.get('form');
      if (fieldOf(form, 'sight') === '') {
        const sentence = 'The request was not sent by a form on this page. Nothing was done.';
        return frame.problem(c, 400, 'Invalid form', sentence);
      }
      const { sandbox } = visitOf(c);
      const id = (c.req.param() as { readonly id?: string }).id ?? '';
      let outcome;
      try {
        outcome = await once(c.req.path, form, () => act({ sandbox, form, id }));
      } catch (failure) {
        const screen = refused({ ...visitOf(c), sent: { to: path, form } }, failure);
        if (screen === null) throw failure;
        return frame.show(c, screen);
      }
      const { to, said, figures = [], isAgain } = outcome;
      const visit = visitOf(c);
      if (outcome.once !== undefined) return frame.show(c, outcome.once(visit));
      const { base } = visit;
      const href = to === '/' && base !== '' ? base : `${base}${to}`;
      return c.redirect(isAgain ? withFlash(href, 'again') : withFlash(href, said, ...figures), 303);
    });
  }
}

interface Asked {
  readonly sandbox: Sandbox;
  readonly form: FormData;
  readonly id: string;
}

export interface Outcome {
  readonly to: string;
  readonly said: SayingCode;
  readonly figures?: readonly number[];
  /** for a value that is shown once and that no URL may hold */
  readonly once?: (visit: SandboxVisit) => Screen;
}

export type Act = (request: Asked) => Outcome | Promise<Outcome>;

/** The message says what to change in the form, and is a full sentence. */
export class FormError extends Error {
  override readonly name = 'FormError';
  readonly status: 400 | 409;

  constructor(message: string, status: 400 | 409 = 400) {
    super(message);
    this.status = status;
  }
}

const MOST = 1_000;
/** Until then, a double click shows the secret again, because browsers show only the second answer. */
const SHOWN_MS = 60_000;

/** Runs each form once, even after a double click or a reload. */
export function onceEach(
  shownMs = SHOWN_MS,
): (
  path: string,
  form: FormData,
  work: () => Outcome | Promise<Outcome>,
) => Promise<Outcome & { readonly isAgain: boolean }> {
  const done = new Map<string, Promise<Outcome>>();

  return async (path, form, work) => {
    const name = createHash('sha256')
      .update(`${path}?${fieldsOf(form).toString()}`)
      .digest('base64url');
    const before = done.get(name);
    if (before !== undefined) return { ...(await before), isAgain: true };
    // Called within the promise, so that a thrown error rejects it.
    const working = (async () => work())();
    done.set(name, working);
    for (const oldest of done.keys()) {
      if (done.size <= MOST) break;
      done.delete(oldest);
    }
    try {
      const outcome = await working;
      if (outcome.once !== undefined) {
        const { to, said } = outcome;
        setTimeout(() => done.has(name) && done.set(name, Promise.resolve({ to, said })), shownMs).unref();
      }
      return { ...outcome, isAgain: false };
    } catch (failure) {
      done.delete(name); // nothing was done, so the form can be sent again
      throw failure;
    }
  };
}

const NOTICES = {
  again: () => 'The form was submitted twice, but took effect only once.',
  placed: () => 'The order was placed.',
  'placed-declined': () => 'The order was placed, but the payment was declined. It can be submitted again.',
  'event-sent': ([deliveries = 0]) =>
    deliveries === 0
      ? 'The event was created, but no endpoint receives its type.'
      : `The event will be delivered to ${plural(deliveries, 'endpoint')}. If the clock is frozen, this happens when you advance it.`,
  moved: () => 'The status of the order was changed. The event about the change will be delivered.',
  retrying: () => 'The delivery will be retried. If the clock is frozen, this happens when you advance it.',
  'not-retried': () =>
    'Nothing was done. Either the delivery has succeeded, is being sent or is waiting for its first attempt, or its endpoint was removed.',
  'retrying-dead': ([dead = 0]) =>
    dead === 0
      ? 'Nothing was done: this endpoint has no dead letters.'
      : `${plural(dead, 'dead letter')} will be retried. If the clock is frozen, this happens when you advance it.`,
  'key-made': () => 'The key was created. Its value was shown once.',
  'key-deleted': () => 'The key was deleted. Requests that use it now get a 401 response.',
  'webhook-added': () => 'The endpoint was registered. It will receive events from now on.',
  'webhook-changed': () => 'The endpoint was changed.',
  'webhook-removed': () => 'The endpoint and its pending deliveries were removed.',
  'secret-made': () => 'The secret was replaced. The new one was shown once.',
  'stock-set': ([quantity = 0]) => `The stock is now ${number(quantity)}.`,
  advanced: ([ms = 0]) =>
    ms === 0 ? 'All due work is done.' : `The clock advanced by ${age(ms)}, and all work that was due is done.`,
  advancing: () =>
    'The clock is still advancing, because receivers have not answered yet. It continues even if you leave this page.',
  'fault-added': () => 'The fault was added.',
  'fault-ended': () => 'The fault was ended.',
  'faults-ended': () => 'All faults were ended.',
} as const satisfies Notices;

type SayingCode = keyof typeof NOTICES;

export const { withFlash, flashOf } = notices(NOTICES);
