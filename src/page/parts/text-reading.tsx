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
      Taken for {TAKEN_FOR[takenFor]}:{' '}
      <strong>
        <Shortened text={name} atMost={60} />
      </strong>
      , what has failed first.{' '}
      {takenFor !== 'text' && <a href={eventsHref(visit.base, { text: name })}>Look for it as a piece of text</a>}
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
  if (reading === null) return <p>{isFurther ? 'No older event fits.' : 'No event fits.'}</p>;
  return (
    <>
      <p>
        {isFurther
          ? 'No further event has this.'
          : 'No event has this in its id, its type, what it is about or its last error.'}
      </p>
      {suggestions.length > 0 && (
        <p id="suggestions">
          Did you mean <Names names={suggestions} visit={visit} />?
        </p>
      )}
      <p class="muted">
        Bodies are not searched by the box: <a href={`${visit.base}/events#filters`}>the filter</a> finds values in
        them. What was erased is known by the id of its event alone.
      </p>
    </>
  );
}
