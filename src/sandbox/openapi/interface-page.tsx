import type { Hono } from 'hono';
import { html } from 'hono/html';
import type { oas31 } from 'zod-openapi';
import { eventTypes, EVENT_MEANINGS, type EventType } from '../../events/event-types.ts';
import type { Logger } from '../../host/logger.ts';
import { ASSETS } from '../../page/asset-texts.ts';
import { PageHead } from '../../page/layout.tsx';
import { DataTable } from '../../page/parts/list-table.tsx';
import { type Assumptions, ASSUMPTIONS, type AssumptionId } from '../assumptions.ts';
import { ERROR_CODES, ERROR_EXTRAS, OUTAGES, type ErrorCode } from '../errors.ts';
import { createOwnPage } from '../own-page.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation, COMMON_ERRORS } from '../service-operations.ts';
import { openApiDocument, type OpenApiDocument, type AssumptionMark } from './document.ts';
import { type Schemas, curlLine, exampleRequest, resolved, type Schema } from './example-requests.ts';

const PAGE_STYLE = '/interface/page.css';

export function createInterface(assumptions: Assumptions, logger: Logger): Hono {
  const app = createOwnPage(assumptions, logger, 'its interface');

  app.get('/openapi.json', (c) => {
    return c.json(openApiDocument({ assumptions, server: new URL(c.req.url).origin }));
  });
  app.get('/interface', (c) => {
    const server = new URL(c.req.url).origin;
    const document = openApiDocument({ assumptions, server });
    return c.html(html`<!doctype html>${interfacePage(document, assumptions, server)}`);
  });
  app.get(PAGE_STYLE, (c) => c.body(ASSETS['page.css'], 200, { 'Content-Type': 'text/css; charset=utf-8' }));

  return app;
}

function interfacePage(document: OpenApiDocument, assumptions: Assumptions, server: string) {
  const { paths = {}, webhooks = {}, components: { schemas = {} } = {} } = document;
  return (
    <html lang="en">
      <PageHead title="Interface · sandbox" styles={[PAGE_STYLE]} />
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <span class="site">sandbox</span>
          <nav aria-label="Parts">
            <Contents
              links={[
                ['#operations', 'Operations'],
                ['#events', 'Events'],
                ['#assumptions', 'Assumptions'],
                ['/openapi.json', 'openapi.json'],
              ]}
            />
          </nav>
        </header>
        <main id="main" tabindex={-1}>
          <h1>The interface of the Commerce Ordering Service</h1>
          <Introduction server={server} schemas={schemas} />
          <h2 id="operations">Operations</h2>
          <Contents links={OPERATION_NAMES.map((name) => [`#${name}`, OPERATIONS[name].title])} />
          {OPERATION_NAMES.map((name) => {
            const operation: Operation = OPERATIONS[name];
            const described = paths[operation.path]?.[operation.method.toLowerCase() as 'get' | 'post' | 'put'] ?? {};
            return operationSection(name, operation, described, schemas, server);
          })}
          <h2 id="events">Events</h2>
          <p>
            The service sends each event as a POST to the endpoint’s URL. <code>X-Signature</code> is the HMAC-SHA256 of
            the raw body, keyed with the endpoint’s secret, in lowercase hexadecimal. If no 2xx arrives within 10
            seconds, the service redelivers the event for more than a day. Any field of <code>data</code> may be absent
            or null.
          </p>
          <Contents links={eventTypes.map((type) => [`#${type}`, type])} />
          {eventTypes.map((type) => eventSection(type, webhooks[type]?.post ?? {}, schemas))}
          <h2 id="assumptions">Assumptions</h2>
          <p>
            This table shows what the sandbox does where the service’s interface defines nothing. Times are in
            milliseconds.
          </p>
          <AssumptionTable assumptions={assumptions} />
        </main>
      </body>
    </html>
  );
}

function Introduction({ server, schemas }: { readonly server: string; readonly schemas: Schemas }) {
  return (
    <section class="panel">
      <p>
        The base address is <code>{server}</code>. Send your API key, without <code>Bearer</code>, in the header{' '}
        <code>Authorization</code> of each request. Bodies are JSON. <Decided marks={[{ id: 'A9' }, { id: 'A12' }]} />
      </p>
      <p>
        An error response has the object <code>error</code> with <code>code</code>, <code>message</code>,{' '}
        <code>request_id</code> and, depending on the code, more fields. After a 429, wait for{' '}
        <code>X-RateLimit-Retry-After</code> seconds, then retry. Retry after any 5xx too, but not after other errors.
        If the plan has limits, responses have the headers <code>X-RateLimit-Limit</code>,{' '}
        <code>X-RateLimit-Remaining</code> and <code>X-RateLimit-Reset</code>. <Decided marks={[{ id: 'A10' }]} />
      </p>
      <p>
        A successful response has <code>data</code>, which depends on the operation, and <code>messages</code>, a list
        that is usually empty:
      </p>
      <FieldTable caption="A message" fields={fieldsOf({ $ref: '#/components/schemas/Message' }, schemas)} />
      <p>
        In the commands below, <code>$KEY</code> is your API key. In a path, each word that begins with <code>$</code>{' '}
        stands for one of your ids.
      </p>
    </section>
  );
}

function Contents({ links }: { readonly links: readonly (readonly [href: string, text: string])[] }) {
  return (
    <ul>
      {links.map(([href, text]) => (
        <li>
          <a href={href}>{text}</a>
        </li>
      ))}
    </ul>
  );
}

function AssumptionTable({ assumptions }: { readonly assumptions: Assumptions }) {
  return (
    <DataTable
      rows={Object.keys(ASSUMPTIONS) as readonly AssumptionId[]}
      rowIs={(id) => ({ id })}
      columns={[
        ['number', (id) => id],
        ['about', (id) => ASSUMPTIONS[id].about],
        ['assumption', (id) => ASSUMPTIONS[id].decision, { 'data-label': 'why' }],
        ['values', (id) => ASSUMPTIONS[id].values.map((name) => `${name} ${String(assumptions[name])}`).join(', ')],
      ]}
    />
  );
}

function operationSection(
  name: string,
  operation: Operation,
  described: oas31.OperationObject,
  schemas: Schemas,
  server: string,
) {
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
  // The page explains messages once, because each response has them.
  return fieldsOf(schema, schemas).filter(({ name }) => !/^messages\b/.test(name));
}

function ErrorTable({ codes }: { readonly codes: readonly ErrorCode[] }) {
  const sorted = codes.toSorted((a, b) => ERROR_CODES[a].status - ERROR_CODES[b].status);
  return (
    <DataTable
      caption={`Errors; sandbox faults can also return ${Object.keys(OUTAGES).join(', ')}`}
      rows={sorted}
      columns={[
        ['code', (code) => <code>{code}</code>],
        ['status', (code) => ERROR_CODES[code].status],
        ['when', (code) => ERROR_CODES[code].cause],
        ['more fields', (code) => Object.keys(ERROR_EXTRAS[code].shape).join(', ')],
      ]}
    />
  );
}

function eventSection(type: EventType, described: oas31.OperationObject, schemas: Schemas) {
  const { content } = described.requestBody as oas31.RequestBodyObject;
  const media = content['application/json'] ?? {};
  return (
    <section class="panel" id={type} aria-labelledby={`${type}-title`}>
      <h3 id={`${type}-title`}>
        <code>{type}</code>
      </h3>
      <p>
        {EVENT_MEANINGS[type]}. <Decided marks={described['x-assumption'] as readonly AssumptionMark[]} />
      </p>
      <details>
        <summary>Fields</summary>
        <FieldTable caption="Body" fields={fieldsOf(media.schema ?? {}, schemas)} />
      </details>
      <pre tabindex={0} role="region" aria-label={`An example of ${type}`}>
        <code>{JSON.stringify(media.example, null, 2)}</code>
      </pre>
    </section>
  );
}

interface Field {
  /** such as `items[].quantity` */
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly description: string;
  readonly assumptions: readonly AssumptionMark[];
}

function fieldsOf(schema: Schema, schemas: Schemas, prefix = ''): readonly Field[] {
  const { properties = {}, required = [] } = resolved(schema, schemas);
  return Object.entries(properties).flatMap(([name, field]) => {
    const own = fieldOf(`${prefix}${name}`, field, required.includes(name), schemas);
    return [own, ...fieldsWithin(own.name, field, schemas)];
  });
}

function fieldOf(name: string, schema: Schema, isRequired: boolean, schemas: Schemas): Field {
  const { description = '', 'x-assumption': assumptions = [] as readonly AssumptionMark[] } = resolved(schema, schemas);
  return {
    name,
    isRequired,
    type: typeInWords(schema, schemas),
    description,
    assumptions: assumptions as readonly AssumptionMark[],
  };
}

function fieldsWithin(name: string, schema: Schema, schemas: Schemas): readonly Field[] {
  const { items, anyOf = [] } = resolved(schema, schemas);
  if (items !== undefined) return fieldsOf(items, schemas, `${name}[].`);
  return [schema, ...anyOf].flatMap((one) =>
    one === schema ? fieldsOf(one, schemas, `${name}.`) : fieldsWithin(name, one, schemas),
  );
}

function typeInWords(schema: Schema, schemas: Schemas): string {
  const { type, enum: words, const: only, anyOf, items, format, default: usual, ...rest } = resolved(schema, schemas);
  const bounds = boundsInWords(rest);
  const more = `${bounds === '' ? '' : ` ${bounds}`}${usual === undefined ? '' : `; default ${String(usual)}`}`;
  if (only !== undefined) return JSON.stringify(only);
  if (words !== undefined) return `one of ${words.join(', ')}${more}`;
  if (anyOf !== undefined) return anyOf.map((one) => typeInWords(one, schemas)).join(' or ');
  if (items !== undefined) return `list of ${typeInWords(items, schemas)}${more}`;
  if (format === 'date-time') return 'ISO 8601 date-time';
  if (format === 'uri') return 'URL';
  return `${type === 'string' ? 'text' : String(type)}${more}`;
}

/** zod writes these bounds for any integer. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

function boundsInWords(schema: Bounds): string {
  const from = Math.max(schema.minimum ?? -UNBOUNDED, -UNBOUNDED);
  const to = Math.min(schema.maximum ?? UNBOUNDED, UNBOUNDED);
  const within = [
    ...(from === -UNBOUNDED ? [] : [`from ${from}`]),
    ...(to === UNBOUNDED ? [] : [`to ${to}`]),
    ...(schema.maxLength === undefined ? [] : [`of ${schema.minLength ?? 0} to ${schema.maxLength} characters`]),
    ...(schema.maxItems === undefined ? [] : [`with ${schema.minItems ?? 0} to ${schema.maxItems} items`]),
  ];
  return within.join(' ');
}

type Bounds = Readonly<
  Partial<Record<'minimum' | 'maximum' | 'minLength' | 'maxLength' | 'minItems' | 'maxItems', number | undefined>>
>;

function FieldTable({ caption, fields }: { readonly caption: string; readonly fields: readonly Field[] }) {
  if (fields.length === 0) return null;
  return (
    <DataTable
      caption={caption}
      rows={fields}
      columns={[
        ['field', ({ name }) => <code>{name}</code>],
        ['type', ({ type }) => type],
        ['required', ({ isRequired }) => (isRequired ? 'yes' : 'no')],
        [
          'about',
          ({ description, assumptions }) =>
            (description !== '' || assumptions.length > 0) && (
              <>
                {description} <Decided marks={assumptions} />
              </>
            ),
        ],
      ]}
    />
  );
}

function Decided({ marks }: { readonly marks: readonly Pick<AssumptionMark, 'id'>[] }) {
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
