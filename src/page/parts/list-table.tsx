import type { Child } from 'hono/jsx';

/** A table of rows that say the same things, each in a column of that name. */
export function ListTable({
  columns,
  caption,
  children,
}: {
  readonly columns: readonly string[];
  readonly caption?: Child;
  readonly children?: Child;
}) {
  return (
    <table class="list">
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
