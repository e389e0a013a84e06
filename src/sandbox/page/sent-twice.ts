import { createHash } from 'node:crypto';
import { setTimeout } from '../../host/real-timers.ts';
import { fieldsOf } from '../../page/safety/posted-form.ts';
import type { Outcome } from './act.ts';

/** Forms that are known again; the oldest is forgotten first. */
const MOST = 1_000;
/** For so long the answer that shows a secret comes again: who clicks twice sees only the second one. */
const SHOWN_MS = 60_000;

/** Does what forms ask for, each once: who clicks twice, or reloads an answer, asks for nothing more. */
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
    // Called within the promise: what it throws is what the promise is rejected with.
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
      done.delete(name); // nothing was done, so it may come again
      throw failure;
    }
  };
}
