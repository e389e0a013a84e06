import type { Child } from 'hono/jsx';

/** A column of a list: its heading, and what stands in it for a row. */
export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => Child;
  /** whether it holds the forms of a row */
  readonly isActs?: boolean;
}

/** A list, on phones one card a row; the first column names the row. */
export function ListTable<Row>({
  id,
  columns: [naming, ...columns],
  rows,
  idOf,
  hrefOf,
}: {
  readonly id: string;
  readonly columns: readonly [Column<Row>, ...Column<Row>[]];
  readonly rows: readonly Row[];
  /** so that live updates know a row again */
  readonly idOf: (row: Row) => string;
  /** where Enter leads from a row that `j` and `k` have chosen */
  readonly hrefOf?: (row: Row) => string;
}) {
  return (
    <table class="list" id={id}>
      <thead>
        <tr>
          <th scope="col">{naming.label}</th>
          {columns.map(({ label }) => (
            <th scope="col">{label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr id={idOf(row)} data-href={hrefOf?.(row)}>
            <th scope="row">{naming.cell(row)}</th>
            {columns.map(({ label, cell, isActs = false }) => (
              <td data-label={label} class={isActs ? 'actions' : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
