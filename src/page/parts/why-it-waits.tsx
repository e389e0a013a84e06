import type { EventKey } from '../../inbox/event.ts';
import type { EventSummary } from '../../inbox/operator/search.ts';
import type { Wait } from '../../inbox/rules/waiting.ts';
import { blockerInWords, waitInBrief, waitInWords } from '../../ops/words/event-words.ts';
import { eventHref } from './filter-fields.ts';
import { Listed, listedName, StoredText } from './stored-text.tsx';

/** An event, and why it waits; `null` if it waits no more. */
interface Waiting {
  readonly event: EventSummary;
  readonly wait: Wait | null;
  readonly base: string;
  readonly now: Date;
}

/** The event that others wait for, and what is the matter with it. */
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

/** Why an event waits, after its name; the event before it is a link. */
export function WhyItWaits({ event, wait, base, now }: Waiting) {
  return (
    <>
      {waitInWords(event, wait, now).map((part) =>
        typeof part === 'string' ? <StoredText text={part} atMost={500} /> : linkTo(part, base),
      )}
    </>
  );
}

function linkTo(key: EventKey, base: string) {
  return (
    <a href={eventHref(base, key)}>
      <StoredText text={key.id} atMost={60} />
    </a>
  );
}

/** The same where there is little room. */
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
