import type { Pause } from '../../inbox/operator/pauses.ts';
import type { Unhandled } from '../../ops/watch.ts';
import { bounded } from '../../ops/words/format.ts';
import { rerunIgnoredCommand } from '../../processing/announcer.ts';
import type { Visit } from '../visit.ts';
import { AtEndpoint, StoredText } from './stored-text.tsx';
import { eventsHref } from './filter-fields.ts';
import { Time } from './time.tsx';

/** What is paused, with who and why: nobody shall look for what is stuck elsewhere. */
export function PausedTypes({ visit, pauses }: { readonly visit: Visit; readonly pauses: readonly Pause[] }) {
  if (pauses.length === 0) return <></>;
  const { base, now } = visit;
  return (
    <section class="panel" id="paused">
      <h2>Paused</h2>
      <ul>
        {pauses.map((pause) => (
          <li class="warning">
            <PausedType pause={pause} />, paused since <Time at={pause.since} now={now} /> by{' '}
            <StoredText text={pause.actor} atMost={60} />
            {pause.reason !== null && (
              <>
                : <StoredText text={pause.reason} atMost={300} />
              </>
            )}
            . <Waiting pause={pause} base={base} /> <a href={`${base}/paused`}>Resume</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The type, and where it is not the usual one its endpoint. */
export function PausedType({ pause: { type, endpoint } }: { readonly pause: Pause }) {
  return (
    <>
      <StoredText text={type} atMost={80} />
      <AtEndpoint endpoint={endpoint} />
    </>
  );
}

/** How many events wait for its end, as a link to them. */
function Waiting({ pause, base }: { readonly pause: Pause; readonly base: string }) {
  const { endpoint, type, waiting, more } = pause;
  if (waiting === 0 && !more) return <>No events are waiting.</>;
  return (
    <>
      <a href={eventsHref(base, { endpoint, types: [type], states: ['pending'] })}>
        {bounded({ count: waiting, more })} {waiting === 1 && !more ? 'event is waiting' : 'events are waiting'}
      </a>
      .
    </>
  );
}

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
