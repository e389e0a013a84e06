import { ConfigurationError, InboxOpenError, InboxUnavailableError, messageOf, nameOf } from '../../../errors.ts';

/** A failure on its way to another thread: what is sent there loses its class, and whatever it carries beside its text. */
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

/** As it was thrown, with the class that whoever has asked tells it by. */
export function failureFrom({ name, message, code, cause }: FailureData): Error {
  const options = cause === null ? undefined : { cause: failureFrom(cause) };
  // The codes were those of the same classes.
  if (name === 'InboxUnavailableError') {
    return new InboxUnavailableError(code as InboxUnavailableError['code'], message, options);
  }
  if (name === 'InboxOpenError') return new InboxOpenError(code as InboxOpenError['code'], message, options);
  if (name === 'ConfigurationError') return new ConfigurationError(code as ConfigurationError['code'], message);
  return Object.assign(new Error(message, options), { name }, code !== null && { code });
}
