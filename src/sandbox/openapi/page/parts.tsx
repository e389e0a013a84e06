import type { AssumptionMark } from '../assumption-marks.ts';
import type { Field } from './fields.ts';
import { ListTable } from '../../../page/parts/list-table.tsx';

/** The fields of something, in a table. */
export function FieldTable({ caption, fields }: { readonly caption: string; readonly fields: readonly Field[] }) {
  if (fields.length === 0) return null;
  return (
    <ListTable columns={['field', 'type', 'required', 'about']} caption={caption}>
      {fields.map(({ name, type, isRequired, description, assumptions }) => (
        <tr>
          <th scope="row">
            <code>{name}</code>
          </th>
          <td data-label="type">{type}</td>
          <td data-label="required">{isRequired ? 'yes' : 'no'}</td>
          <td data-label={description === '' && assumptions.length === 0 ? undefined : 'about'}>
            {description} <Decided marks={assumptions} />
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

/** Links to the assumptions that decide something. */
export function Decided({ marks }: { readonly marks: readonly Pick<AssumptionMark, 'id'>[] }) {
  if (marks.length === 0) return null;
  return (
    <span class="muted">
      Assumed:{' '}
      {marks.map(({ id }, at) => (
        <>
          {at > 0 && ', '}
          <a href={`#${id}`}>{id}</a>
        </>
      ))}
    </span>
  );
}
