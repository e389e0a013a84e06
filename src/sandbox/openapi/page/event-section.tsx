import type { oas31 } from 'zod-openapi';
import { EVENT_MEANINGS, type EventType } from '../../../events/event-types.ts';
import type { AssumptionMark } from '../assumption-marks.ts';
import type { Schemas } from '../example-of.ts';
import { fieldsOf } from './fields.ts';
import { Decided, FieldTable } from './parts.tsx';

interface EventSectionParts {
  readonly type: EventType;
  /** the same in the document */
  readonly described: oas31.OperationObject;
  readonly schemas: Schemas;
}

/** One type of event, with an example. */
export function EventSection({ type, described, schemas }: EventSectionParts) {
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
