import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { Act, ActOptions, ActReport, By } from '../inbox/operator/acts.ts';
import { assertFilter } from '../inbox/operator/search.ts';
import { operationsOf } from './operations-of.ts';

/** The option `states` of an operator's action. */
export type InStates = Pick<ActOptions, 'states'>;

/**
 * Acts on events that are named.
 *
 * @throws ConfigurationError for an unknown state
 */
export async function actOnNamed(
  inbox: AnyInbox,
  act: Act,
  keys: readonly EventKey[],
  by: By,
  options: ActOptions,
): Promise<ActReport> {
  if (options.states !== undefined) assertFilter({ states: options.states });
  return operationsOf(inbox).act(act, keys, by, options);
}
