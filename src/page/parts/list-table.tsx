import type { Child } from 'hono/jsx';

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
