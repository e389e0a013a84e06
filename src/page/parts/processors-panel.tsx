import type { RunningProcessor } from '../../inbox/work.ts';
import type { Processing } from '../../ops/processors.ts';
import { typesText } from '../../ops/words/watch-words.ts';
import { StoredText } from './stored-text.tsx';
import { Time } from './time-and-age.tsx';
import { ListTable } from './list-table.tsx';

/** The processors that run, what they handle, and since when. */
export function ProcessorsPanel({ processing, now }: { readonly processing: Processing; readonly now: Date }) {
  const { processors, missing } = processing;
  return (
    <section class="panel" id="processors">
      <h2>Processors</h2>
      {missing.map(({ endpoint, types, since }) => (
        <p class="warning">
          No processor for <StoredText text={typesText(types)} />
          {endpoint === '*' ? '' : ' at '}
          {endpoint === '*' ? <></> : <StoredText text={endpoint} atMost={80} />} has run since{' '}
          <Time at={since} now={now} />.
        </p>
      ))}
      {processors.length === 0 ? (
        <p>
          No processor is running. In inline mode, none is needed. A processor appears here within a second of its
          start.
        </p>
      ) : (
        <ListTable columns={['process', 'endpoints', 'handles', 'started', 'last seen']}>
          {processors.map((processor) => (
            <ProcessorRow processor={processor} now={now} />
          ))}
        </ListTable>
      )}
    </section>
  );
}

function ProcessorRow({ processor, now }: { readonly processor: RunningProcessor; readonly now: Date }) {
  const { name, endpoints, types, startedAt, seenAt } = processor;
  return (
    <tr>
      <th scope="row">
        <StoredText text={name} atMost={40} />
      </th>
      <td data-label="endpoints">
        <StoredText text={endpoints === '*' ? 'all' : endpoints.join(', ')} atMost={160} />
      </td>
      <td data-label="handles">
        <StoredText
          text={types === '*' ? 'all types' : types.length === 0 ? 'nothing' : types.join(', ')}
          atMost={400}
        />
      </td>
      <td data-label="started">
        <Time at={startedAt} now={now} />
      </td>
      <td data-label="last seen">
        <Time at={seenAt} now={now} />
      </td>
    </tr>
  );
}
