import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { By } from '../../inbox/operator/acts.ts';
import { bytes } from '../../ops/words/format.ts';
import type { Frame, PageContext, PageEnv } from '../frame.tsx';
import { MAX_REASON } from '../parts/form-fields.tsx';

/** Accepts a form if its visitor is an operator, its size is allowed, and its token belongs to the visitor. */
export function postedForm(frame: Frame, maxBytes: number): MiddlewareHandler<PageEnv> {
  const limited = bodyLimit({
    maxSize: maxBytes,
    // Called with the context of this middleware.
    onError: (c) =>
      frame.problem(
        c as PageContext,
        413,
        'Too large',
        `A form can have at most ${bytes(maxBytes)}. Nothing was done.`,
      ),
  });
  return async (c, next) => {
    const { visitor } = frame.visitOf(c);
    if (visitor.role !== 'operator') {
      return frame.problem(c, 403, 'Not allowed', 'Your role is viewer. Only operators can do this. Nothing was done.');
    }
    return limited(c, async () => {
      const form = await c.req.formData().catch(() => null);
      if (form === null) {
        c.res = await frame.problem(c, 400, 'Invalid form', NO_FORM);
      } else if (!frame.isTokenOf(visitor, form.get('csrf'))) {
        c.res = await frame.problem(c, 403, 'Form out of date', OUT_OF_DATE);
      } else {
        c.set('form', form);
        await next();
      }
    });
  };
}

const NO_FORM = 'The request was not sent by a form on this page. Nothing was done.';
const OUT_OF_DATE =
  'After you opened this form, the server restarted or you logged in as a different user. Nothing was done. Go ' +
  'back, reload the page and submit the form again.';

export function fieldsOf(form: FormData): URLSearchParams {
  return new URLSearchParams([...form].filter((field): field is [string, string] => typeof field[1] === 'string'));
}

export function fieldOf(form: FormData, name: string): string {
  return fieldsOf(form).get(name)?.trim() ?? '';
}

export function valuesOf(form: FormData, name: string): readonly string[] {
  const values = fieldsOf(form).getAll(name);
  return [...new Set(values.map((value) => value.trim()).filter((value) => value !== ''))];
}

export function byOf(frame: Frame, c: PageContext): By {
  const reason = fieldOf(c.get('form'), 'reason').slice(0, MAX_REASON);
  return { actor: frame.visitOf(c).visitor.name, via: 'page', ...(reason !== '' && { reason }) };
}
