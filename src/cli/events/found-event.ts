import type { Inbox } from '../../inbox/contract.ts';
import { listEvents, type EventSummary } from '../../ops/index.ts';
import { shownInbox, type DbOptions } from '../shared/db-option.ts';
import { usageError } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { tell } from '../shared/output.ts';

/**
 * The event with an id, at whatever endpoint unless that is given; `null`, after saying so, where there is none.
 *
 * @throws CommandError where several endpoints have one
 */
export async function foundEvent(
  inbox: Inbox,
  id: string,
  options: DbOptions & { readonly endpoint?: string },
): Promise<EventSummary | null> {
  const { endpoint } = options;
  const { events } = await listEvents(inbox, { id, ...(endpoint !== undefined && { endpoint }) });
  const [found, ...others] = events;
  if (found === undefined) {
    tell(
      `There is no event ${named(id)} in ${shownInbox(options)}${endpoint === undefined ? '' : ` at the endpoint ${named(endpoint)}`}.`,
    );
    return null;
  }
  if (others.length === 0) return found;
  const endpoints = events.map((each) => named(each.endpoint)).join(', ');
  throw usageError(`${named(id)} is an event of several endpoints: ${endpoints}. Say with --endpoint which one.`);
}

function named(text: string): string {
  return oneLine(JSON.stringify(text));
}
