import { eventTypes } from '../../../events/event-types.ts';
import { PageHead } from '../../../page/layout.tsx';
import { ASSUMPTIONS, type AssumptionId, type Assumptions } from '../../assumptions.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation } from '../../service-operations.ts';
import type { OpenApiDocument } from '../document.ts';
import type { Schemas } from '../example-of.ts';
import { PAGE_STYLE } from '../interface-request.ts';
import { EventSection } from './event-section.tsx';
import { fieldsOf } from './fields.ts';
import { OperationSection } from './operation-section.tsx';
import { Decided, FieldTable } from './parts.tsx';

interface InterfacePageParts {
  readonly document: OpenApiDocument;
  readonly assumptions: Assumptions;
  readonly server: string;
}

/** The whole interface to read: operations, events, and what the sandbox assumes. Nothing of it needs a script. */
export function InterfacePage({ document, assumptions, server }: InterfacePageParts) {
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
            <ul>
              <li>
                <a href="#operations">Operations</a>
              </li>
              <li>
                <a href="#events">Events</a>
              </li>
              <li>
                <a href="#assumptions">Assumptions</a>
              </li>
              <li>
                <a href="/openapi.json">openapi.json</a>
              </li>
            </ul>
          </nav>
        </header>
        <main id="main" tabindex={-1}>
          <h1>The interface of the Commerce Ordering Service</h1>
          <Introduction server={server} schemas={schemas} />
          <h2 id="operations">Operations</h2>
          <Contents links={OPERATION_NAMES.map((name) => [name, OPERATIONS[name].title])} />
          {OPERATION_NAMES.map((name) => {
            const operation: Operation = OPERATIONS[name];
            const described = paths[operation.path]?.[operation.method.toLowerCase() as 'get' | 'post' | 'put'] ?? {};
            return <OperationSection {...{ name, operation, described, schemas, server }} />;
          })}
          <h2 id="events">Events</h2>
          <p>
            The service sends each event as a POST to the endpoint’s URL. <code>X-Signature</code> is the HMAC-SHA256 of
            the raw body, keyed with the endpoint’s secret, in lowercase hexadecimal. If no 2xx arrives within 10
            seconds, the service redelivers the event for more than a day. Any field of <code>data</code> may be absent
            or null.
          </p>
          <Contents links={eventTypes.map((type) => [type, type])} />
          {eventTypes.map((type) => (
            <EventSection type={type} described={webhooks[type]?.post ?? {}} schemas={schemas} />
          ))}
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

function Contents({ links }: { readonly links: readonly (readonly [id: string, text: string])[] }) {
  return (
    <ul>
      {links.map(([id, text]) => (
        <li>
          <a href={`#${id}`}>{text}</a>
        </li>
      ))}
    </ul>
  );
}

function AssumptionTable({ assumptions }: { readonly assumptions: Assumptions }) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">number</th>
          <th scope="col">about</th>
          <th scope="col">assumption</th>
          <th scope="col">values</th>
        </tr>
      </thead>
      <tbody>
        {(Object.keys(ASSUMPTIONS) as readonly AssumptionId[]).map((id) => (
          <tr id={id}>
            <th scope="row">{id}</th>
            <td data-label="about">{ASSUMPTIONS[id].about}</td>
            <td data-label="why">{ASSUMPTIONS[id].decision}</td>
            <td data-label="values">
              {ASSUMPTIONS[id].values.map((name) => `${name} ${String(assumptions[name])}`).join(', ')}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
