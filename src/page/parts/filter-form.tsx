import type { Child } from 'hono/jsx';
import { eventTypes } from '../../events/event-types.ts';
import { deadReasons, eventStates } from '../../inbox/event.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { parseDuration } from '../../ops/words/read-time.ts';
import { shortTime, timestamp } from '../../ops/words/format.ts';
import type { Visit } from '../visit.ts';
import { GroupName } from './filter-words.tsx';
import { FIELDS } from './filter-fields.ts';
import { StoredText } from './stored-text.tsx';

/** The filter bar of the Events screen: what is set in it stands in the URL, so that a link shows the same to others. */
export function FilterForm({
  action,
  fields,
  filter,
  visit,
  isOpen,
}: {
  readonly action: string;
  readonly fields: URLSearchParams;
  /** what was read in these, as far as it could be */
  readonly filter: EventFilter;
  readonly visit: Visit;
  /** something in it cannot be read */
  readonly isOpen: boolean;
}) {
  const seldom = SELDOM.some((name) => (fields.get(name) ?? '') !== '');
  const set = FIELDS.flatMap((name) => fields.getAll(name).map((value) => [name, value.trim()] as const)).filter(
    ([, value]) => value !== '',
  );
  return (
    <details class="filtering" id="filtering" open={isOpen}>
      <summary>
        Filter
        {set.map(([name, value]) => (
          <span class="set">
            <span class="muted">{LABELS.get(name) ?? name}</span>{' '}
            <SetValue name={name} value={value} filter={filter} visit={visit} />
          </span>
        ))}
      </summary>
      <form method="get" action={action} class="filters panel" id="filters" role="search" aria-label="Filter">
        {fields.getAll('event').map((event) => (
          <input type="hidden" name="event" value={event} />
        ))}
        <div class="row">
          <Field name="entity" label="Entity" hint="ord_42, or order:mer_7:ord_42" fields={fields} />
          <Field name="id" label="Event id" hint="evt_…" fields={fields} />
          <Field name="text" label="Text" hint="in ids, types, entities or errors" fields={fields} />
          <Field name="error" label="Last error" hint="contains" fields={fields} />
          <Field name="since" label="Received since" hint="2h, 14:00, or 2026-01-31" fields={fields} />
          <Field name="until" label="until" hint="15m, or a time (UTC)" fields={fields} />
          <Field name="failedSince" label="Failed since" hint="2h, 14:00, or 2026-01-31" fields={fields} />
          <Field name="failedUntil" label="until" hint="15m, or a time (UTC)" fields={fields} />
        </div>
        <Choices name="state" label="State" values={eventStates} fields={fields} />
        <details open={seldom}>
          <summary>More</summary>
          <Choices name="type" label="Type" values={typesOf(fields)} fields={fields}>
            <label class="field">
              <span>Another type</span> <input type="text" name="type" maxlength={255} autocomplete="off" />
            </label>
          </Choices>
          <Choices name="deadReason" label="Dead reason" values={deadReasons} fields={fields} />
          <div class="row">
            <Field name="merchant" label="Merchant" hint="mer_7" fields={fields} />
            <Conditions fields={fields} />
            <Field name="endpoint" label="Endpoint" hint="default" fields={fields} />
            <Field name="fingerprint" label="Group of dead events" hint="" fields={fields} />
            <Field name="ignoredSince" label="Ignored (no handler) since" hint="7d, or a time (UTC)" fields={fields} />
            <Field name="bulk" label="Bulk action" hint="number" fields={fields} />
            <YesNo name="retrying" label="Waiting for a retry" fields={fields} />
            <YesNo name="redelivered" label="Redelivered" fields={fields} />
            <YesNo name="conflict" label="Has conflicts" fields={fields} />
          </div>
        </details>
        <div class="actions">
          <button type="submit" class="primary">
            Filter
          </button>
          <a href={action}>Clear</a>
        </div>
      </form>
    </details>
  );
}

/** What a field says, where its form is folded away. */
function SetValue({
  name,
  value,
  filter,
  visit,
}: {
  readonly name: string;
  readonly value: string;
  readonly filter: EventFilter;
  readonly visit: Visit;
}) {
  if (name === 'fingerprint' && value === filter.fingerprint) {
    const { retrying = false, bulk } = filter;
    return <GroupName place={{ fingerprint: value, retrying, ...(bulk !== undefined && { bulk }) }} visit={visit} />;
  }
  const at = isTime(name) ? filter[name] : undefined;
  if (at === undefined) return <StoredText text={value} atMost={40} />;
  return (
    <time datetime={at.toISOString()} title={timestamp(at)}>
      {/* What is counted back from now is said as it was asked for. */}
      {parseDuration(value) !== null ? `${value} ago` : `${shortTime(at, visit.now)} UTC`}
    </time>
  );
}

const TIMES = ['since', 'until', 'failedSince', 'failedUntil', 'ignoredSince'] as const;

function isTime(name: string): name is (typeof TIMES)[number] {
  return TIMES.some((time) => time === name);
}

/** How a field is called where its form is folded away, unless by its name in the URL. */
const LABELS = new Map([
  ['id', 'event id'],
  ['error', 'last error contains'],
  ['since', 'received since'],
  ['until', 'received before'],
  ['failedSince', 'failed since'],
  ['failedUntil', 'failed before'],
  ['deadReason', 'dead reason'],
  ['body', 'body contains'],
  ['fingerprint', 'group'],
  ['ignoredSince', 'ignored (no handler) since'],
]);

/** What is asked for seldom enough to be folded away. */
const SELDOM = [
  'type',
  'deadReason',
  'merchant',
  'body',
  'endpoint',
  'fingerprint',
  'ignoredSince',
  'retrying',
  'redelivered',
  'conflict',
  'bulk',
] as const;

interface FieldParts {
  readonly name: string;
  readonly label: string;
  readonly fields: URLSearchParams;
}

function Field({ name, label, hint, fields }: FieldParts & { readonly hint: string }) {
  return (
    <label class="field">
      <span>{label}</span>{' '}
      <input
        type="text"
        name={name}
        value={fields.get(name) ?? ''}
        placeholder={hint}
        maxlength={1_000}
        autocomplete="off"
        spellcheck={false}
      />
    </label>
  );
}

/** One field for each condition that is set, and one more. */
function Conditions({ fields }: { readonly fields: URLSearchParams }) {
  const given = fields.getAll('body').filter((text) => text.trim() !== '');
  return (
    <>
      {[...given, ''].map((text, n) => (
        <label class="field">
          <span>{n === 0 ? 'Body contains' : 'and'}</span>{' '}
          <input
            type="text"
            name="body"
            value={text}
            placeholder="data.items[0].name=Tea"
            maxlength={1_000}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      ))}
    </>
  );
}

function Choices({
  name,
  label,
  values,
  fields,
  children,
}: FieldParts & { readonly values: readonly string[]; readonly children?: Child }) {
  const chosen = fields.getAll(name);
  return (
    <fieldset class="choices">
      <legend>{label}</legend>
      {values.map((value) => (
        <label>
          <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} /> <bdi>{value}</bdi>
        </label>
      ))}
      {children}
    </fieldset>
  );
}

/** The types that hookbox knows, and those that are asked for. */
function typesOf(fields: URLSearchParams): readonly string[] {
  const asked = fields.getAll('type').filter((type) => type.trim() !== '');
  return [...new Set([...eventTypes, ...asked.slice(0, 20)])];
}

function YesNo({ name, label, fields }: FieldParts) {
  const chosen = fields.get(name);
  return (
    <label class="field">
      <span>{label}</span>{' '}
      <select name={name}>
        {[
          ['', 'any'],
          ['yes', 'yes'],
          ['no', 'no'],
        ].map(([value, word]) => (
          <option value={value} selected={value === (chosen ?? '')}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}
