import type { oas31 } from 'zod-openapi';
import { ERROR_CODES, ERROR_EXTRAS, OUTAGES, type ErrorCode } from '../../errors.ts';
import { COMMON_ERRORS, type Operation } from '../../service-operations.ts';
import type { AssumptionMark } from '../assumption-marks.ts';
import type { Schemas } from '../example-of.ts';
import { curlLine, exampleRequest } from './curl-line.ts';
import { fieldOf, fieldsOf, type Field } from './fields.ts';
import { Decided, FieldTable } from './parts.tsx';
import { ListTable } from '../../../page/parts/list-table.tsx';

interface OperationSectionParts {
  readonly name: string;
  readonly operation: Operation;
  /** the same in the document */
  readonly described: oas31.OperationObject;
  readonly schemas: Schemas;
  readonly server: string;
}

/** One operation: what it takes, what it answers, and a line that calls it. */
export function OperationSection({ name, operation, described, schemas, server }: OperationSectionParts) {
  const { title, method, path, alias, permission, status, errors } = operation;
  const example = exampleRequest(method, path, described, schemas);
  return (
    <section class="panel" id={name} aria-labelledby={`${name}-title`}>
      <h3 id={`${name}-title`}>{title}</h3>
      <p>
        <code>
          {method} {path}
        </code>
        {alias !== undefined && (
          <>
            , also <code>{alias}</code>
          </>
        )}
        . It requires the permission <code>{permission}</code>. In faults and in generated code, the operation is called{' '}
        <code>{name}</code>. <Decided marks={described['x-assumption'] as readonly AssumptionMark[]} />
      </p>
      <pre>
        <code>{curlLine(server, example)}</code>
      </pre>
      <FieldTable caption="Parameters" fields={parameterFields(described, schemas)} />
      <FieldTable caption="Body" fields={bodyFields(described.requestBody, schemas)} />
      <FieldTable caption={`Answer, ${status}`} fields={answerFields(described, status, schemas)} />
      <ErrorTable codes={[...COMMON_ERRORS, ...errors]} />
    </section>
  );
}

function parameterFields({ parameters = [] }: oas31.OperationObject, schemas: Schemas): readonly Field[] {
  return parameters.flatMap((parameter) =>
    '$ref' in parameter
      ? []
      : [fieldOf(parameter.name, parameter.schema ?? {}, parameter.required === true, schemas)].map((field) => ({
          ...field,
          description: [`in the ${parameter.in}`, field.description].filter((text) => text !== '').join('; '),
        })),
  );
}

function bodyFields(body: oas31.OperationObject['requestBody'], schemas: Schemas): readonly Field[] {
  const schema = body === undefined || '$ref' in body ? undefined : body.content['application/json']?.schema;
  return schema === undefined ? [] : fieldsOf(schema, schemas);
}

function answerFields({ responses }: oas31.OperationObject, status: number, schemas: Schemas): readonly Field[] {
  const answer = responses?.[String(status)] as oas31.ResponseObject | undefined;
  const schema = answer?.content?.['application/json']?.schema;
  if (schema === undefined) return [];
  // Each answer has messages, which the page explains once.
  return fieldsOf(schema, schemas).filter(({ name }) => !/^messages\b/.test(name));
}

function ErrorTable({ codes }: { readonly codes: readonly ErrorCode[] }) {
  const sorted = codes.toSorted((a, b) => ERROR_CODES[a].status - ERROR_CODES[b].status);
  return (
    <ListTable
      columns={['code', 'status', 'when', 'more fields']}
      caption={<>Errors; sandbox faults can also return {Object.keys(OUTAGES).join(', ')}</>}
    >
      {sorted.map((code) => (
        <tr>
          <th scope="row">
            <code>{code}</code>
          </th>
          <td data-label="status">{ERROR_CODES[code].status}</td>
          <td data-label="when">{ERROR_CODES[code].cause}</td>
          <td data-label="more fields">{Object.keys(ERROR_EXTRAS[code].shape).join(', ')}</td>
        </tr>
      ))}
    </ListTable>
  );
}
