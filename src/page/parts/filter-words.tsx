import type { Child } from 'hono/jsx';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { MASKED } from '../../ops/body/mask.ts';
import { groupSamples, type GroupPlace, type GroupSamples, groupInWords } from '../../ops/words/event-words.ts';
import { timestamp, number } from '../../ops/words/format.ts';
import type { Visit } from '../visit.ts';
import { eventHref, LABELS, TIMES } from './filter-fields.ts';
import { LongText, StoredText } from './text.tsx';

const TIMED = new Set<string>([...TIMES, 'settledBefore']);
const SHOWN = 6;
const VALUE_CHARACTERS = 60;
/** Deeper than hookbox nests fields: other programs may write to the file, too. */
const DEEPEST = 4;

interface Shown {
  readonly visit: Visit;
  readonly bulk: number | undefined;
  readonly depth: number;
}

/** Another version of hookbox may have written an audit line, so its fields may be anything. */
export function FilterWords({
  filter,
  visit,
  bulk = bulkIn(filter),
}: {
  readonly filter: unknown;
  readonly visit: Visit;
  readonly bulk?: number | undefined;
}) {
  const fields = fieldsOf(filter);
  if (fields.length === 0) return ALL_EVENTS;
  return (
    <dl class="facts inline">
      {fields.map(([name, value]) => (
        <div>
          <dt>
            <Label name={name} />
          </dt>
          <dd>{valueOf(name, value, filter, { visit, bulk, depth: 1 })}</dd>
        </div>
      ))}
    </dl>
  );
}

const ALL_EVENTS = <span class="muted">all events</span>;

function Label({ name }: { readonly name: string }) {
  return <StoredText text={name === 'bulk' ? 'bulk action' : (LABELS.get(name) ?? name)} atMost={40} />;
}

function valueOf(name: string, value: unknown, of: unknown, { depth, ...shown }: Shown): Child {
  const { visit, bulk } = shown;
  const deeper = { ...shown, depth: depth + 1 };
  if (Array.isArray(value)) {
    return (
      <>
        {value.slice(0, SHOWN).map((one: unknown, n) => (
          <>
            {n > 0 && (name === 'body' ? ' and ' : ', ')}
            {valueOf(name, one, of, deeper)}
          </>
        ))}
        {value.length > SHOWN && ` and ${number(value.length - SHOWN)} more`}
      </>
    );
  }
  if (name === 'ids' && typeof value === 'string') {
    const endpoint = isRecord(of) ? of['endpoint'] : undefined;
    const text = <StoredText text={value} atMost={VALUE_CHARACTERS} />;
    return typeof endpoint === 'string' ? <a href={eventHref(visit.base, { endpoint, id: value })}>{text}</a> : text;
  }
  if (name === 'bulk' && typeof value === 'number') return <a href={`${visit.base}/bulks/${value}`}>{number(value)}</a>;
  if (name === 'body' && isRecord(value)) {
    const path = textOf(value['path']);
    const wanted = textOf(value['value']);
    const text = `${path} = ${isMasked({ body: [{ path, value: wanted }] }, visit) ? MASKED : wanted}`;
    return <LongText text={text} atMost={VALUE_CHARACTERS} />;
  }
  if (name === 'bodyText' && typeof value === 'string') {
    const except = isRecord(of) && Array.isArray(of['bodyTextExcept']) ? of['bodyTextExcept'] : [];
    const bodyTextExcept = except.filter((path) => typeof path === 'string');
    if (isMasked({ bodyText: value, bodyTextExcept }, visit)) return <>{MASKED}</>;
  }
  // The command line can search for values that this page masks.
  if (name === 'merchant' && typeof value === 'string' && isMasked({ merchant: value }, visit)) return <>{MASKED}</>;
  if (isRecord(value) && !(value instanceof Date) && depth < DEEPEST) {
    const fields = fieldsOf(value);
    if (fields.length === 0) return ALL_EVENTS;
    return (
      <>
        {fields.map(([inner, each], n) => (
          <>
            {n > 0 && '; '}
            <span class="muted">
              <Label name={inner} />
            </span>{' '}
            {valueOf(inner, each, value, deeper)}
          </>
        ))}
      </>
    );
  }
  if (name === 'fingerprint' && typeof value === 'string') {
    const retrying = isRecord(of) && of['retrying'] === true;
    const place = { fingerprint: value, ...(retrying && { retrying }), ...(bulk !== undefined && { bulk }) };
    return <GroupName place={place} visit={visit} />;
  }
  return <LongText text={TIMED.has(name) ? timeOf(value) : textOf(value)} atMost={VALUE_CHARACTERS} />;
}

function isMasked(filter: EventFilter, { refusal }: Visit): boolean {
  return refusal(filter) !== null;
}

function bulkIn(filter: unknown): number | undefined {
  const bulk = isRecord(filter) ? filter['bulk'] : undefined;
  return typeof bulk === 'number' ? bulk : undefined;
}

function timeOf(value: unknown): string {
  const at = value instanceof Date ? value : new Date(typeof value === 'string' ? value : Number.NaN);
  return Number.isNaN(at.getTime()) ? textOf(value) : timestamp(at);
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return number(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return JSON.stringify(value) ?? '';
}

function fieldsOf(filter: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (isRecord(filter)) return Object.entries(filter).filter(([, value]) => value !== undefined && value !== null);
  return filter === null || filter === undefined ? [] : [['what', filter]];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const samplesOf = new WeakMap<Visit, GroupSamples>();

/** Names a group by one of its errors, because its fingerprint says nothing to a reader. */
export async function GroupName({ place, visit }: { readonly place: GroupPlace; readonly visit: Visit }) {
  const samples = samplesOf.get(visit) ?? groupSamples(visit.operated.inbox);
  samplesOf.set(visit, samples);
  return <StoredText text={groupInWords(place.fingerprint, await samples(place))} />;
}
