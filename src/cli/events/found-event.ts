import type { Inbox } from '../../inbox/contract.ts';
import { listEvents, type EventSummary } from '../../ops/index.ts';
import { shownInbox, type DbOptions } from '../shared/db-option.ts';
import { usageError } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { tell } from '../shared/output.ts';
import { ELLIPSIS, wholeId } from './whole-id.ts';

/**
 * The event with an id, which a list may have shortened (`evt_…wYb2`), at any endpoint unless one is given. Returns `null`
 * after a message if the inbox has none.
 *
 * @throws CommandError where several endpoints have one, or several ids match
 */
export async function foundEvent(
  inbox: Inbox,
  given: string,
  options: DbOptions & { readonly endpoint?: string },
): Promise<EventSummary | null> {
  const { endpoint } = options;
  const id = await idFor(inbox, given, options);
  const { events } = await listEvents(inbox, { id, ...(endpoint !== undefined && { endpoint }) });
  const [found, ...others] = events;
  if (found === undefined) {
    tell(
      `${shownInbox(options)} has no event ${named(id)}${endpoint === undefined ? '' : ` of the endpoint ${named(endpoint)}`}.`,
    );
    return null;
  }
  if (others.length === 0) return found;
  const endpoints = events.map((each) => named(each.endpoint)).join(', ');
  throw usageError(`Several endpoints have an event ${named(id)}: ${endpoints}. Select one with --endpoint.`);
}

/** The id that a list has shortened to this text, or the text itself. A whole id never stands for a longer one. */
export async function idFor(inbox: Inbox, given: string, options: { readonly endpoint?: string }): Promise<string> {
  return (given.includes(ELLIPSIS) ? await wholeId(inbox, given, options) : null) ?? given;
}

function named(text: string): string {
  return oneLine(JSON.stringify(text));
}
