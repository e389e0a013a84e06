import type { Child, PropsWithChildren } from 'hono/jsx';
import type { EventSummary } from '../../inbox/operator/search.ts';
import { stateText } from '../../ops/words/event-words.ts';

type Attributes = Readonly<Record<string, string | undefined>>;

/** @param attributes - of the cells, instead of `data-label` with the name */
export type Column<Row> = readonly [name: Child, cell: (row: Row) => Child, attributes?: Attributes];

interface TableParts<Row> {
  readonly id?: string;
  /** classes beside `list` */
  readonly kind?: string;
  readonly caption?: Child;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** a sentence in place of a table without rows */
  readonly none?: Child;
  /** the id of a row, for live updates, and the address that Enter opens */
  /** what the row after it holds, which the style sheet shows while a `details` of the row is open */
  readonly inside?: (row: Row) => Child;
  readonly rowIs?: (row: Row) => { readonly id: string; readonly class?: string; readonly 'data-href'?: string };
  readonly named?: number;
}

export function DataTable<Row>({ id, kind, caption, columns, rows, none, inside, rowIs, named = 0 }: TableParts<Row>) {
  if (rows.length === 0 && none !== undefined) return <Notice>{none}</Notice>;
  return (
    <table class={kind === undefined ? 'list' : `list ${kind}`} id={id}>
      {caption !== undefined && <caption>{caption}</caption>}
      <thead>
        <tr>
          {columns.map(([name, , attributes]) => (
            <th
              scope="col"
              class={attributes?.['class'] === 'figures' ? 'figures' : undefined}
              data-col={attributes?.['data-col']}
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <>
            <tr {...rowIs?.(row)}>
              {columns.map(([name, cell, attributes = { 'data-label': name as string }], n) =>
                n === named ? (
                  <th scope="row" data-col={attributes['data-col']}>
                    {cell(row)}
                  </th>
                ) : (
                  <td {...attributes}>{cell(row)}</td>
                ),
              )}
            </tr>
            {inside !== undefined && (
              <tr class="inside" id={`inside-${rowIs?.(row).id}`}>
                <td colspan={columns.length}>{inside(row)}</td>
              </tr>
            )}
          </>
        ))}
      </tbody>
    </table>
  );
}

export function Panel({ id, title, children }: PropsWithChildren<{ readonly id?: string; readonly title: Child }>) {
  return (
    <section class="panel" id={id}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export type FactList = readonly (readonly [name: Child, value: Child] | false)[];

export function Facts({ facts }: { readonly facts: FactList }) {
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

export function Notice({ id = 'none', children }: PropsWithChildren<{ readonly id?: string }>) {
  return (
    <p class="notice" id={id}>
      {children}
    </p>
  );
}

/** The head of a column of boxes. The script adds a box that selects all rows shown. */
export function ChooseHead() {
  return (
    <>
      <input type="checkbox" id="choose-all" class="held" aria-label="Select all shown" hidden />
      <span class="unseen">select</span>
    </>
  );
}

type Stated = Pick<EventSummary, 'state' | 'deadReason' | 'failures' | 'lastOutcome' | 'pruned'>;

export function State({ summary }: { readonly summary: Stated }) {
  return <span class={`state state-${dotOf(summary)}`}>{stateText(summary)}</span>;
}

function dotOf({ state, failures }: Stated): string {
  return state === 'pending' && failures > 0 ? 'pending state-retrying' : state;
}
