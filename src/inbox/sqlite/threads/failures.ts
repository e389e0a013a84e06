import {
  causesOf,
  ConfigurationError,
  InboxOpenError,
  InboxUnavailableError,
  messageOf,
  nameOf,
} from '../../../errors.ts';

/** A thread throws an error with this code if only the connection that started it may use the file. */
export const UNFIT = 'UNFIT';
/** As UNFIT, but the request may have been carried out. */
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

/** An error as a message: sending an error would remove its class and its code. */
export interface FailureData {
  readonly name: string;
  readonly message: string;
  readonly code: string | null;
  readonly cause: FailureData | null;
}

const DEEPEST_CAUSE = 3;

export function failureData(failure: unknown, depth = 0): FailureData {
  const { code = null, cause } = Object(failure) as { readonly code?: unknown; readonly cause?: unknown };
  return {
    name: nameOf(failure),
    message: messageOf(failure),
    code: typeof code === 'string' ? code : null,
    cause: cause === undefined || depth === DEEPEST_CAUSE ? null : failureData(cause, depth + 1),
  };
}

export function failureFrom({ name, message, code, cause }: FailureData): Error {
  const options = cause === null ? undefined : { cause: failureFrom(cause) };
  // The code came from an error of the same class.
  if (name === 'InboxUnavailableError') {
    return new InboxUnavailableError(code as InboxUnavailableError['code'], message, options);
  }
  if (name === 'InboxOpenError') return new InboxOpenError(code as InboxOpenError['code'], message, options);
  if (name === 'ConfigurationError') return new ConfigurationError(code as ConfigurationError['code'], message);
  return Object.assign(new Error(message, options), { name }, code !== null && { code });
}
