import type { EventKey } from '../../inbox/event.ts';
import type { Pause } from '../../inbox/operator/pauses.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import type { Wait } from '../../inbox/rules/waiting.ts';
import { heldUp, type HeldUpLanes, heldUpInWords } from '../../ops/pauses.ts';
import type { Unhandled } from '../../ops/watch.ts';
import { bounded, plural } from '../../ops/words/format.ts';
import { blockerInWords, waitInBrief, waitInWords } from '../../ops/words/event-words.ts';
import { rerunIgnoredCommand } from '../../processing/announcer.ts';
import type { Visit } from '../visit.ts';
import { eventsHref, eventHref, pendingHref } from './filter-fields.ts';
import { Panel } from './list-table.tsx';
import { AtEndpoint, StoredText, Listed, listedName, Time } from './text.tsx';

export function TypeAt({ of: { type, endpoint } }: { readonly of: Pick<Pause, 'type' | 'endpoint'> }) {
  return (
    <>
      <StoredText text={type} atMost={80} />
      <AtEndpoint endpoint={endpoint} />
    </>
  );
}

export function Until({ pause: { until, failures }, now }: { readonly pause: Pause; readonly now: Date }) {
  if (until === undefined) return <></>;
  const words =
    failures === undefined ? 'until' : `(${plural(failures, 'failure')} in a row so far), next attempt from`;
  return (
    <>
      {' '}
      {words} <Time at={until} now={now} />
    </>
  );
}

export function AfterColon({ reason }: { readonly reason: string | null }) {
  if (reason === null) return <></>;
  return (
    <>
      : <StoredText text={reason} atMost={300} />
    </>
  );
}

export function unhandledPanel({ base, now, named }: Visit, { waiting, ignored, ignoredSince }: Unhandled) {
  if (waiting.length === 0 && ignored.length === 0) return <></>;
  return (
    <Panel id="unhandled" title="Events without a handler">
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
            : <a href={pendingHref(base, { endpoint, type })}>{bounded(count)} pending</a>
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
    </Panel>
  );
}

export async function heldUpWarning({ operated, now }: Visit, lanes: HeldUpLanes) {
  const words = heldUpInWords(await heldUp(operated.inbox, lanes, now.getTime()));
  return (
    <>
      {words.map((sentence) => (
        <p class="warning held-up">
          <StoredText text={sentence} atMost={600} />
        </p>
      ))}
    </>
  );
}

interface Waiting {
  readonly event: EventSummary;
  readonly wait: Wait | null;
  readonly base: string;
  readonly now: Date;
}

export function Culprit({ event, wait, base, now }: Waiting) {
  const named = wait?.reason === 'behind' ? wait.blocker.event : event;
  return (
    <>
      {linkTo(named, base)}{' '}
      {wait?.reason === 'behind' ? (
        <StoredText text={blockerInWords(wait.blocker, now)} atMost={500} />
      ) : (
        <WhyItWaits event={event} wait={wait} base={base} now={now} />
      )}
    </>
  );
}

export function WhyItWaits({ event, wait, base, now }: Waiting) {
  return (
    <>
      {waitInWords(event, wait, now).map((part) =>
        typeof part === 'string' ? <StoredText text={part} atMost={500} /> : linkTo(part, base),
      )}
    </>
  );
}

export function linkTo(key: EventKey, base: string, atMost = 60) {
  return (
    <a href={eventHref(base, key)}>
      <StoredText text={key.id} atMost={atMost} />
    </a>
  );
}

export function WaitInBrief({ wait, base, now }: Omit<Waiting, 'event'>) {
  const words = waitInBrief(wait, now);
  if (words.length === 0) return <></>;
  return (
    <span class="brief">
      {words.map((part) =>
        typeof part === 'string' ? (
          <bdi title={part}>{part.trim()}</bdi>
        ) : (
          <a href={eventHref(base, part)} aria-label={listedName(part.id, 22)}>
            <Listed text={part.id} atMost={22} />
          </a>
        ),
      )}
    </span>
  );
}
