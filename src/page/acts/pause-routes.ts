import type { Hono } from 'hono';
import { ConfigurationError } from '../../errors.ts';
import { pauseType, resumeType, type PauseOptions } from '../../ops/pauses.ts';
import { byOf, fieldOf, postedForm } from '../safety/posted-form.ts';
import type { PageContext, PageEnv, Shell } from '../shell.tsx';
import { withFlash, type FlashCode } from './flash.ts';

const MAX_FORM_BYTES = 16 * 1024;

/** Pausing a type, and resuming it. Each answers with the screen that shows what is paused. */
export function pauseRoutes(page: Hono<PageEnv>, shell: Shell): void {
  const { inbox } = shell.operated;
  const posted = postedForm(shell, MAX_FORM_BYTES);

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
