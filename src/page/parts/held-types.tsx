import type { Pause } from '../../inbox/operator/pauses.ts';
import type { Unhandled } from '../../ops/watch.ts';
import { bounded } from '../../ops/words/format.ts';
import { rerunIgnoredCommand } from '../../processing/announcer.ts';
import type { Visit } from '../visit.ts';
import { AtEndpoint, StoredText } from './stored-text.tsx';
import { eventsHref } from './filter-fields.ts';
import { Time } from './time.tsx';

/** The paused types, with who paused them and why. */
export function PausedTypes({ visit, pauses }: { readonly visit: Visit; readonly pauses: readonly Pause[] }) {
  if (pauses.length === 0) return <></>;
  const { base, now } = visit;
  return (
    <section class="panel" id="paused">
      <h2>Paused</h2>
      <ul>
        {pauses.map((pause) => (
          <li class="warning">
            <TypeAt of={pause} />, paused since <Time at={pause.since} now={now} /> by{' '}
            <StoredText text={pause.actor} atMost={60} />
            <AfterColon reason={pause.reason} />. {waitingFor(pause, base)} <a href={`${base}/paused`}>Resume</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The type, and its endpoint unless that is the default. */
export function TypeAt({ of: { type, endpoint } }: { readonly of: Pick<Pause, 'type' | 'endpoint'> }) {
  return (
    <>
      <StoredText text={type} atMost={80} />
      <AtEndpoint endpoint={endpoint} />
    </>
  );
}

/** `: the reason`, if there is one. */
export function AfterColon({ reason }: { readonly reason: string | null }) {
  if (reason === null) return <></>;
  return (
    <>
      : <StoredText text={reason} atMost={300} />
    </>
  );
}

function waitingFor({ endpoint, type, waiting, more }: Pause, base: string) {
  if (waiting === 0 && !more) return 'No events are waiting.';
  return (
    <>
      <a href={eventsHref(base, { endpoint, types: [type], states: ['pending'] })}>
        {bounded({ count: waiting, more })} {waiting === 1 && !more ? 'event is waiting' : 'events are waiting'}
      </a>
      .
    </>
  );
}

/** Types without a handler, and events that were ignored for lack of one, with the way to rerun them. */
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
            <TypeAt of={{ type, endpoint }} />
            {since !== null && (
              <>
                {' '}
                has run since <Time at={since} now={now} />
              </>
            )}
            : <a href={eventsHref(base, { endpoint, types: [type], states: ['pending'] })}>{bounded(count)} pending</a>
          </li>
        ))}
        {ignored.map(({ endpoint, type, count, more }) => {
          const isOne = count === 1 && !more;
          return (
            <li>
              <a href={eventsHref(base, { endpoint, types: [type], ignoredSince })}>
                {bounded({ count, more })} {isOne ? 'event' : 'events'} of <TypeAt of={{ type, endpoint }} />
              </a>{' '}
              {isOne ? 'was' : 'were'} ignored in the last seven days, because no processor handled this type. Rerun{' '}
              {isOne ? 'it' : 'them'} from that list, or with{' '}
              <code>{rerunIgnoredCommand({ endpoint, types: [type], ignoredSince }, named)}</code>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
