import { causesOf, InboxUnavailableError } from '../../../errors.ts';

/** The code of what a thread throws when it must leave the file to whoever has started it. */
export const UNFIT = 'UNFIT';
/** As UNFIT, but what was asked for may be done or not. */
export const UNFIT_BEGUN = 'UNFIT_BEGUN';

export function unfit(why: string, isBegun: boolean): InboxUnavailableError {
  const code = isBegun ? UNFIT_BEGUN : UNFIT;
  return new InboxUnavailableError('FAILED', why, { cause: Object.assign(new Error(why), { code }) });
}

/** The codes of a failure and of its causes. */
export function codesOf(failure: unknown): readonly string[] {
  return causesOf(failure).flatMap((cause) => {
    const { code } = Object(cause) as { readonly code?: unknown };
    return typeof code === 'string' ? [code] : [];
  });
}
