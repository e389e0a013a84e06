import type { Child, PropsWithChildren } from 'hono/jsx';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { stateText } from '../../ops/words/event-words.ts';

export function ListTable({
  id,
  columns,
  caption,
  children,
}: {
  readonly id?: string | undefined;
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

type Attributes = Readonly<Record<string, string | undefined>>;

export type Column<Row> = readonly [name: Child, cell: (row: Row) => Child, attributes?: Attributes];

export function DataTable<Row>({
  id,
  caption,
  columns,
  rows,
  rowIs,
  named = 0,
}: {
  readonly id?: string;
  readonly caption?: Child;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowIs?: (row: Row) => { readonly id: string; readonly 'data-href'?: string };
  readonly named?: number;
}) {
  return (
    <ListTable id={id} caption={caption} columns={columns.map(([name]) => name)}>
      {rows.map((row) => (
        <tr {...rowIs?.(row)}>
          {columns.map(([name, cell, attributes = { 'data-label': name as string }], n) =>
            n === named ? <th scope="row">{cell(row)}</th> : <td {...attributes}>{cell(row)}</td>,
          )}
        </tr>
      ))}
    </ListTable>
  );
}

export function Panel({ id, title, children }: PropsWithChildren<{ readonly id?: string; readonly title: string }>) {
  return (
    <section class="panel" id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export function Facts({ facts }: { readonly facts: readonly (readonly [name: Child, value: Child] | false)[] }) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <div>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
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

export function State({
  summary,
}: {
  readonly summary: Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'pruned'>;
}) {
  return <span class={`state state-${summary.state}`}>{stateText(summary)}</span>;
}
