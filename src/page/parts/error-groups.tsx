import type { Child } from 'hono/jsx';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { bounded } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import type { Visit } from '../visit.ts';
import { ChooseHead } from './choose-head.tsx';
import { ListTable } from './list-table.tsx';
import { eventHref } from './screen-links.ts';
import { StoredText } from './stored-text.tsx';
import { Time } from './time-and-age.tsx';

/** Events whose last errors say the same. */
type ErrorGroup = Parameters<typeof bounded>[0] & { readonly newest: EventSummary; readonly fingerprint: string };

interface GroupRow {
  readonly id: string;
  /** where all events of the group are listed */
  readonly href: string;
  readonly cause: string;
  /** one for each of `between` */
  readonly cells: readonly Child[];
  /** what an operator can do */
  readonly acts: Child;
}

interface ErrorGroupsParts<Group> {
  readonly visit: Visit;
  readonly id: string;
  readonly groups: readonly Group[];
  /** the columns that stand between the count and the newest event */
  readonly between: readonly string[];
  readonly rowOf: (group: Group) => GroupRow;
  /** the id of the form that boxes belong to, one for each group; without it nothing can be chosen */
  readonly choiceOf?: string;
}

/** A table of groups, each with its error, its count, its newest event, and what an operator can do about all of it. */
export function ErrorGroups<Group extends ErrorGroup>({
  visit,
  id,
  groups,
  between,
  rowOf,
  choiceOf,
}: ErrorGroupsParts<Group>) {
  const { base, now } = visit;
  const mayAct = visit.visitor.role === 'operator';
  const choose = <ChooseHead />;
  const columns = [
    ...(choiceOf === undefined ? [] : [choose]),
    'error',
    'events',
    ...between,
    'newest received',
    ...(mayAct ? ['action'] : []),
  ];
  return (
    <ListTable id={id} columns={columns}>
      {groups.map((group) => {
        const row = rowOf(group);
        return (
          <tr id={row.id} data-href={row.href}>
            {choiceOf !== undefined && (
              <td data-col="choose">
                <input
                  type="checkbox"
                  name="fingerprint"
                  value={group.fingerprint}
                  form={choiceOf}
                  aria-label={`Select the group ${oneLine(row.cause, 80)}`}
                />
              </td>
            )}
            <th scope="row">
              <a href={row.href}>
                <StoredText text={row.cause} atMost={240} />
              </a>
            </th>
            <td data-label="events">{bounded(group)}</td>
            {between.map((name, at) => (
              <td data-label={name}>{row.cells[at]}</td>
            ))}
            <td data-label="newest received">
              <Time at={group.newest.receivedAt} now={now} /> <a href={eventHref(base, group.newest)}>show newest</a>
            </td>
            {mayAct && (
              <td data-label="action" class="actions">
                {row.acts}
              </td>
            )}
          </tr>
        );
      })}
    </ListTable>
  );
}
