import type { Child } from 'hono/jsx';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { stateText } from '../../ops/words/event-words.ts';

/** A table of rows that say the same things, each in a column of that name. */
export function ListTable({
  id,
  columns,
  caption,
  children,
}: {
  readonly id?: string;
  readonly columns: readonly Child[];
  readonly caption?: Child;
  readonly children?: Child;
}) {
  return (
    <table class="list" id={id}>
      {caption !== undefined && <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map((column) => (
            <th scope="col">{column}</th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

/** The head of a column of boxes: with the script, a box for all that are shown. */
export function ChooseHead() {
  return (
    <>
      <input type="checkbox" id="choose-all" aria-label="Select all shown" hidden />
      <span class="unseen">select</span>
    </>
  );
}

/** The state of an event as a badge, with what else there is to say of it in a word. */
export function State({
  summary,
}: {
  readonly summary: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'pruned'>;
}) {
  return <span class={`state state-${summary.state}`}>{stateText(summary)}</span>;
}
