import type { Inbox } from '../../inbox/contract.ts';
import type { StoredEvent } from '../../inbox/event.ts';
import type { DbOptions } from '../shared/options.ts';
import { existingInbox } from '../shared/inbox.ts';
import { eventFinding, whenSettled } from './inbox-findings.ts';
import type { ScenarioReceiver } from './scenario-receiver.ts';
import { typesHandledLately } from './types-handled-lately.ts';

/** Where a receiver is, and what is known of it. */
export interface RemoteReceiverOptions {
  readonly url: URL;
  readonly secret: string;
  /** where its inbox is, if that is at hand */
  readonly stored?: DbOptions;
  readonly endpoint: string;
}

/**
 * A receiver that the user runs. While it is to be down nothing is sent to it; what it holds is known only where its
 * inbox is at hand.
 *
 * @throws CommandError when there is no inbox
 */
export async function remoteReceiver({
  url,
  secret,
  stored,
  endpoint,
}: RemoteReceiverOptions): Promise<ScenarioReceiver> {
  const inbox = stored === undefined ? null : await existingInbox(stored);
  let down = false;

  async function events(ids: readonly string[], inbox: Inbox): Promise<readonly StoredEvent[]> {
    const events = await Promise.all(ids.map((id) => inbox.get({ endpoint, id })));
    return events.filter((event) => event !== null);
  }

  return {
    url,
    secret,
    async goDown() {
      down = true;
    },
    async comeUp() {
      down = false;
    },
    reachable: () => !down,
    async keepUp() {},
    async known(ids) {
      return inbox === null ? 0 : (await events(ids, inbox)).length;
    },
    async findings(ids, onWait) {
      if (inbox === null || stored === undefined) return null;
      const taken = await typesHandledLately(stored, endpoint);
      const isUntaken = ({ state, type }: StoredEvent): boolean =>
        state === 'ignored' || (state === 'pending' && !taken.has('*') && !taken.has(type ?? ''));
      const found = await whenSettled(() => events(ids, inbox), onWait, isUntaken);
      const findings = await Promise.all(
        found.map((event) => eventFinding(inbox, event, { isUntaken: isUntaken(event) })),
      );
      return { events: findings, runs: null, superseded: null };
    },
    async [Symbol.asyncDispose]() {
      await inbox?.close();
    },
  };
}
