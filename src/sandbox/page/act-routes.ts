import type { Hono } from 'hono';
import type { Frame, PageContext, PageEnv } from '../../page/frame.tsx';
import { fieldOf, postedForm } from '../../page/safety/posted-form.ts';
import type { Screen } from '../../page/visit.ts';
import type { Act } from './act.ts';
import type { SandboxVisit } from './sandbox-visit.ts';
import { withFlash } from './sayings.ts';
import { onceEach } from './sent-twice.ts';

const MAX_FORM_BYTES = 64 * 1024;

/**
 * Has each form do its action once, and answers with where to look next.
 *
 * @param refused - the screen of a form that was refused, as it was filled in; `null` where it has none
 */
export function actRoutes(
  page: Hono<PageEnv>,
  acts: Readonly<Record<string, Act>>,
  frame: Frame,
  visitOf: (c: PageContext) => SandboxVisit,
  refused: (visit: SandboxVisit, failure: unknown) => Screen | null,
): void {
  const posted = postedForm(frame, MAX_FORM_BYTES);
  const once = onceEach();

  for (const [path, act] of Object.entries(acts)) {
    page.post(path, posted, async (c) => {
      const form = c.get('form');
      if (fieldOf(form, 'sight') === '') {
        return frame.problem(
          c,
          400,
          'Invalid form',
          'The request was not sent by a form on this page. Nothing was done.',
        );
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
      if (outcome.once !== undefined) return frame.show(c, outcome.once(visitOf(c)));
      const base = frame.baseOf(c);
      const href = to === '/' && base !== '' ? base : `${base}${to}`;
      return c.redirect(isAgain ? withFlash(href, 'again') : withFlash(href, said, ...figures), 303);
    });
  }
}
