import type { Suggestion, TextReading } from '../../ops/find-by-text.ts';
import { filterFor } from '../../ops/find-by-text.ts';
import { ALSO_BEGINS, TAKEN_FOR } from '../../ops/words/reading-words.ts';
import type { Visit } from '../visit.ts';
import { Shortened } from './shortened.tsx';
import { eventsHref } from './screen-links.ts';

/** What the text of the search box was taken for, what finds the same, and what else begins so. */
export function TakenFor({ reading, visit }: { readonly reading: TextReading; readonly visit: Visit }) {
  const { takenFor, name, others } = reading;
  return (
    <p class="taken" id="taken">
      Searched as {TAKEN_FOR[takenFor]}:{' '}
      <strong>
        <Shortened text={name} atMost={60} />
      </strong>
      , failed events first.{' '}
      {takenFor !== 'text' && <a href={eventsHref(visit.base, { text: name })}>Search for it as text</a>}
      {others.length > 0 && (
        <span class="others">
          {' '}
          {ALSO_BEGINS} <Names names={others} visit={visit} />
        </span>
      )}
    </p>
  );
}

function Names({ names, visit }: { readonly names: readonly Suggestion[]; readonly visit: Visit }) {
  return (
    <>
      {names.map((one, n) => (
        <>
          {n > 0 && ', '}
          <a href={eventsHref(visit.base, filterFor(one))}>
            <Shortened text={one.name} atMost={40} />
          </a>
        </>
      ))}
    </>
  );
}

/** Why there may be nothing, and what may have been meant. */
export function NothingFits({
  reading,
  suggestions,
  isFurther,
  visit,
}: {
  readonly reading: TextReading | null;
  readonly suggestions: readonly Suggestion[];
  readonly isFurther: boolean;
  readonly visit: Visit;
}) {
  if (reading === null) return <p>{isFurther ? 'No older events found.' : 'No events found.'}</p>;
  return (
    <>
      <p>
        {isFurther ? 'No older event has this text.' : 'No event has this text in its id, type, entity or last error.'}
      </p>
      {suggestions.length > 0 && (
        <p id="suggestions">
          Did you mean <Names names={suggestions} visit={visit} />?
        </p>
      )}
      <p class="muted">
        The search box does not search bodies; <a href={`${visit.base}/events#filters`}>the filter</a> does. Erased
        events are found only by their id.
      </p>
    </>
  );
}
