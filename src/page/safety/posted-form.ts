import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { By } from '../../inbox/operator/acts.ts';
import { bytes } from '../../ops/words/format.ts';
import { MAX_REASON } from '../parts/act-form.tsx';
import type { Frame, PageContext, PageEnv } from '../frame.tsx';

/**
 * What every POST has to pass: its visitor is an operator, it is no larger than it may be, and its token says that the
 * visitor's own page has sent it. Only then its fields are handed on.
 *
 * @param maxBytes - of the whole form
 */
export function postedForm(frame: Frame, maxBytes: number): MiddlewareHandler<PageEnv> {
  const limited = bodyLimit({
    maxSize: maxBytes,
    // This is called with the context of this middleware.
    onError: (c) =>
      frame.problem(c as PageContext, 413, 'Too large', `The form can be at most ${bytes(maxBytes)} in size.`),
  });
  return async (c, next) => {
    const visitor = frame.visitorOf(c);
    if (visitor.role !== 'operator') {
      return frame.problem(c, 403, 'Not allowed', 'Your role is viewer. Only operators can do this. Nothing was done.');
    }
    return limited(c, async () => {
      const form = await formOf(c);
      if (form === null) {
        c.res = await frame.problem(
          c,
          400,
          'Invalid form',
          'The request was not sent by a form on this page. Nothing was done.',
        );
      } else if (!frame.tokens.isTokenOf(visitor, form.get('csrf'))) {
        c.res = await frame.problem(c, 403, 'Form out of date', OUT_OF_DATE);
      } else {
        c.set('form', form);
        await next();
      }
    });
  };
}

const OUT_OF_DATE =
  'After you opened this form, the server restarted or you logged in as a different user. Nothing was done. Go ' +
  'back, reload the page and submit the form again.';

async function formOf(c: PageContext): Promise<FormData | null> {
  try {
    return await c.req.formData();
  } catch {
    return null;
  }
}

/** The text fields of a form. */
export function fieldsOf(form: FormData): URLSearchParams {
  const fields = new URLSearchParams();
  for (const [name, value] of form) {
    if (typeof value === 'string') fields.append(name, value);
  }
  return fields;
}

/** A field with one value; empty unless given. */
export function fieldOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** The texts of a field that may be given several times. */
export function valuesOf(form: FormData, name: string): readonly string[] {
  const values = form.getAll(name).map((value) => (typeof value === 'string' ? value.trim() : ''));
  return [...new Set(values.filter((value) => value !== ''))];
}

/** Who does it, and why, for the audit. */
export function byOf(frame: Frame, c: PageContext, form: FormData): By {
  const reason = fieldOf(form, 'reason').slice(0, MAX_REASON);
  return { actor: frame.visitorOf(c).name, via: 'page', ...(reason !== '' && { reason }) };
}
