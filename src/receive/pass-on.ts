import { LATE, withinDeadline, type Deadline, askToWait, type HostLimits } from '../host/host-limits.ts';
import { type ErrorOutcome, nameAndCode, type EndWithError } from './outcome.ts';

/** The result of your function for a verified delivery. */
export interface Passed<T> {
  readonly passed: T;
  readonly id: string;
}

export async function passOnTo<T, Verified extends { readonly id: string }>(
  passOn: (verified: Verified) => T | Promise<T>,
  verified: Verified,
  {
    deadline,
    host,
    reject,
  }: { readonly deadline: Deadline; readonly host: HostLimits | undefined; reject: EndWithError },
): Promise<Passed<T> | ErrorOutcome> {
  const work = (async () => passOn(verified))();
  try {
    const passed = await withinDeadline(work, deadline);
    if (passed !== LATE) return { passed, id: verified.id };
  } catch (thrown) {
    return reject('not-passed-on', { error: nameAndCode(thrown) });
  }
  askToWait(host?.waitUntil, Promise.allSettled([work]));
  return reject('not-passed-on-in-time');
}
