import type { Pause } from '../../inbox/operator/pauses.ts';
import { bounded } from '../../ops/words/format.ts';
import type { Visit } from '../visit.ts';
import { AtEndpoint } from './at-endpoint.tsx';
import { eventsHref } from './screen-links.ts';
import { StoredText } from './stored-text.tsx';
import { Time } from './time-and-age.tsx';

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
export function Waiting({ pause, base }: { readonly pause: Pause; readonly base: string }) {
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
