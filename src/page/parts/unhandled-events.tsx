import { bounded } from '../../ops/words/format.ts';
import { rerunIgnoredCommand } from '../../processing/announcer.ts';
import type { Unhandled } from '../../ops/unhandled.ts';
import type { Visit } from '../visit.ts';
import { AtEndpoint } from './at-endpoint.tsx';
import { eventsHref } from './screen-links.ts';
import { StoredText } from './stored-text.tsx';
import { Time } from './time-and-age.tsx';

/** Types without a handler, and events that were ignored before there was one, with the way to rerun them. */
export function UnhandledEvents({
  visit: { base, now, named },
  unhandled: { waiting, ignored, ignoredSince },
}: {
  readonly visit: Visit;
  readonly unhandled: Unhandled;
}) {
  if (waiting.length === 0 && ignored.length === 0) return <></>;
  return (
    <section class="panel" id="unhandled">
      <h2>Events without a handler</h2>
      <ul>
        {waiting.map(({ endpoint, type, since, ...count }) => (
          <li class="warning">
            {since === null ? 'No processor has ever run for the endpoint that receives ' : 'No processor for '}
            <StoredText text={type} atMost={80} />
            <AtEndpoint endpoint={endpoint} />
            {since !== null && (
              <>
                {' '}
                has run since <Time at={since} now={now} />
              </>
            )}
            : <a href={eventsHref(base, { endpoint, types: [type], states: ['pending'] })}>{bounded(count)} pending</a>
          </li>
        ))}
        {ignored.map(({ endpoint, type, count, more }) => (
          <li>
            <a href={eventsHref(base, { endpoint, types: [type], ignoredSince })}>
              {bounded({ count, more })} {count === 1 && !more ? 'event' : 'events'} of{' '}
              <StoredText text={type} atMost={80} />
              <AtEndpoint endpoint={endpoint} />
            </a>{' '}
            {count === 1 && !more ? 'was' : 'were'} ignored in the last seven days, because no processor handled this
            type. Rerun {count === 1 && !more ? 'it' : 'them'} from that list, or with{' '}
            <code>{rerunIgnoredCommand({ endpoint, types: [type], ignoredSince }, named)}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
