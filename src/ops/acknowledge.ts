import type { AnyInbox } from '../inbox/contract.ts';
import type { AcknowledgeOptions, AcknowledgeReport } from '../inbox/operator/acknowledging.ts';
import type { By } from '../inbox/operator/acts.ts';
import type { Acknowledgement } from '../inbox/rules/acknowledging.ts';
import { assertOptions, whole, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

const OPTIONS: RulesFor<AcknowledgeOptions> = { link: true, count: whole(0) };

/**
 * Acknowledges a group of dead events: operators know its cause, so the overview no longer shows the group. Its events
 * stay dead. `by.reason` is the operator's note. The group reopens when another of its events becomes dead, for example
 * after a rerun; pruning and successful reruns keep it acknowledged. A second acknowledgement replaces the first.
 *
 * @param fingerprint - of the group, as `deadGroups` returns it
 * @throws ConfigurationError `INVALID_OPTION` for a missing `by`, or a link that is not a web address
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { acknowledgeGroup, deadGroups } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const by = { actor: 'ada', reason: 'fixed in the next release' };
 * for (const { fingerprint, count } of await deadGroups(inbox)) {
 *   await acknowledgeGroup(inbox, fingerprint, by, { link: 'https://wiki.example/tax', count });
 * }
 * ```
 */
export async function acknowledgeGroup(
  inbox: AnyInbox,
  fingerprint: string,
  by: By,
  options: AcknowledgeOptions = {},
): Promise<AcknowledgeReport> {
  assertOptions('acknowledgeGroup', options, OPTIONS);
  return operationsOf(inbox).acknowledgeGroup(fingerprint, by, options);
}

/**
 * Removes the acknowledgement of a group of dead events, and so reopens the group.
 *
 * @returns the removed acknowledgement, or `null` if the group was not acknowledged
 * @throws ConfigurationError `INVALID_OPTION` for a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { reopenGroup } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * console.log(await reopenGroup(inbox, '5f3a9c0d1b2e4f67', { actor: 'ada' })); // null
 * ```
 */
export async function reopenGroup(inbox: AnyInbox, fingerprint: string, by: By): Promise<Acknowledgement | null> {
  return operationsOf(inbox).reopenGroup(fingerprint, by);
}
