import type { EventFilter } from '../../inbox/operator/search.ts';
import { MASKED } from '../../ops/body/mask.ts';
import { type GroupPlace, groupSamples, type GroupSamples, groupInWords } from '../../ops/words/event-words.ts';
import { timestamp, number } from '../../ops/words/format.ts';
import type { Visit } from '../visit.ts';
import { eventHref } from './filter-fields.ts';
import { LongText, StoredText } from './stored-text.tsx';

/** The words for the parts of filters and audit lines; anything else is shown by its own name. */
const LABELS = new Map([
  ['ids', 'events'],
  ['types', 'type'],
  ['states', 'state'],
  ['deadReasons', 'dead reason'],
  ['since', 'received since'],
  ['until', 'received before'],
  ['failedSince', 'failed since'],
  ['failedUntil', 'failed before'],
  ['settledBefore', 'settled before'],

  ['error', 'last error contains'],
  ['fingerprint', 'group'],
  ['ignoredSince', 'ignored (no handler) since'],
  ['body', 'body contains'],
  ['bulk', 'bulk action'],
]);

const TIMES = new Set(['since', 'until', 'failedSince', 'failedUntil', 'ignoredSince', 'settledBefore']);

const SHOWN = 10;
const VALUE_CHARACTERS = 60;
/** Deeper than hookbox writes them. What others have put into the file must not take the page down. */
const DEEPEST = 4;

/**
 * The target of an action, as names and values: a filter, ids, criteria or a file. An audit line may come from another
 * version of hookbox has written, so nothing is taken for granted.
 */
export function FilterWords({
  filter,
  visit,
  bulk = numberIn(filter, 'bulk'),
}: {
  readonly filter: unknown;
  readonly visit: Visit;
  /** the bulk action whose filter it is, where it does not say so itself */
  readonly bulk?: number | undefined;
}) {
  const fields = fieldsOf(filter);
  if (fields.length === 0) return <AllEvents />;
  return (
    <dl class="facts inline">
      {fields.map(([name, value]) => (
        <div>
          <dt>
            <Label name={name} />
          </dt>
          <dd>
            <Value name={name} value={value} of={filter} visit={visit} bulk={bulk} depth={1} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Fields within a field stand in the same line. */
function Within({ of, visit, bulk, depth }: Omit<ValueParts, 'name' | 'value'>) {
  const fields = fieldsOf(of);
  if (fields.length === 0) return <AllEvents />;
  return (
    <>
      {fields.map(([name, value], n) => (
        <>
          {n > 0 && '; '}
          <span class="muted">
            <Label name={name} />
          </span>{' '}
          <Value name={name} value={value} of={of} visit={visit} bulk={bulk} depth={depth + 1} />
        </>
      ))}
    </>
  );
}

function AllEvents() {
  return <span class="muted">all events</span>;
}

function Label({ name }: { readonly name: string }) {
  return <StoredText text={LABELS.get(name) ?? name} atMost={40} />;
}

interface ValueParts {
  readonly name: string;
  readonly value: unknown;
  /** what it is a field of */
  readonly of: unknown;
  readonly visit: Visit;
  readonly bulk: number | undefined;
  readonly depth: number;
}

function Value({ name, value, of, visit, bulk, depth }: ValueParts) {
  if (Array.isArray(value)) {
    const shown: readonly unknown[] = value.slice(0, SHOWN);
    const between = name === 'body' ? ' and ' : ', ';
    return (
      <>
        {shown.map((one, n) => (
          <>
            {n > 0 && between}
            <Value name={name} value={one} of={of} visit={visit} bulk={bulk} depth={depth + 1} />
          </>
        ))}
        {value.length > SHOWN && ` and ${number(value.length - SHOWN)} more`}
      </>
    );
  }
  if (name === 'ids' && typeof value === 'string') return <EventLink id={value} of={of} base={visit.base} />;
  if (name === 'bulk' && typeof value === 'number') return <a href={`${visit.base}/bulks/${value}`}>{number(value)}</a>;
  if (name === 'body' && isRecord(value)) return <Condition condition={value} visit={visit} />;
  // The command line searches for what is masked here, too.
  if (name === 'merchant' && typeof value === 'string' && isMasked({ merchant: value }, visit)) return <>{MASKED}</>;
  if (isRecord(value) && !(value instanceof Date) && depth < DEEPEST)
    return <Within of={value} visit={visit} bulk={bulk} depth={depth} />;
  if (name === 'fingerprint' && typeof value === 'string')
    return <GroupName place={placeOf(value, of, bulk)} visit={visit} />;
  return <LongText text={TIMES.has(name) ? timeOf(value) : asText(value)} atMost={VALUE_CHARACTERS} />;
}

function Condition({
  condition,
  visit,
}: {
  readonly condition: Readonly<Record<string, unknown>>;
  readonly visit: Visit;
}) {
  const path = asText(condition['path']);
  const value = asText(condition['value']);
  return (
    <LongText
      atMost={VALUE_CHARACTERS}
      text={`${path} = ${isMasked({ body: [{ path, value }] }, visit) ? MASKED : value}`}
    />
  );
}

function isMasked(filter: EventFilter, { refusal }: Visit): boolean {
  return (refusal?.(filter) ?? null) !== null;
}

/** An id without its endpoint leads nowhere. */
function EventLink({ id, of, base }: { readonly id: string; readonly of: unknown; readonly base: string }) {
  const endpoint = isRecord(of) ? of['endpoint'] : undefined;
  const text = <StoredText text={id} atMost={VALUE_CHARACTERS} />;
  return typeof endpoint === 'string' ? <a href={eventHref(base, { endpoint, id })}>{text}</a> : text;
}

function placeOf(fingerprint: string, of: unknown, bulk: number | undefined): GroupPlace {
  return {
    fingerprint,
    ...(isRecord(of) && of['retrying'] === true && { retrying: true }),
    ...(bulk !== undefined && { bulk }),
  };
}

function numberIn(of: unknown, name: string): number | undefined {
  const value = isRecord(of) ? of[name] : undefined;
  return typeof value === 'number' ? value : undefined;
}

function timeOf(value: unknown): string {
  const at = value instanceof Date ? value : new Date(typeof value === 'string' ? value : Number.NaN);
  return Number.isNaN(at.getTime()) ? asText(value) : timestamp(at);
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return number(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  // What JSON cannot hold is `undefined` here.
  return JSON.stringify(value) ?? '';
}

function fieldsOf(filter: unknown): readonly (readonly [name: string, value: unknown])[] {
  if (isRecord(filter)) return Object.entries(filter).filter(([, value]) => value !== undefined && value !== null);
  return filter === null || filter === undefined ? [] : [['what', filter]];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What one screen has asked for. */
const samplesOf = new WeakMap<Visit, GroupSamples>();

/** A group of errors by what they say: its fingerprint says nothing to people. */
export async function GroupName({ place, visit }: { readonly place: GroupPlace; readonly visit: Visit }) {
  const samples = samplesOf.get(visit) ?? groupSamples(visit.operated.inbox);
  samplesOf.set(visit, samples);
  const sample = await samples(place);
  return <StoredText text={groupInWords(place.fingerprint, sample)} />;
}
