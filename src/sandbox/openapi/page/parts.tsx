import type { AssumptionMark } from '../assumption-marks.ts';
import type { Field } from './fields.ts';

/** The fields of something, in a table. */
export function FieldTable({ caption, fields }: { readonly caption: string; readonly fields: readonly Field[] }) {
  if (fields.length === 0) return null;
  return (
    <table class="list">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">field</th>
          <th scope="col">type</th>
          <th scope="col">required</th>
          <th scope="col">about</th>
        </tr>
      </thead>
      <tbody>
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
      </tbody>
    </table>
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
