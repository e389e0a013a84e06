import { eventTypes } from '../../events/event-types.ts';
import type { EventFilter } from '../../inbox/operator/search.ts';
import { deadReasons, eventStates } from '../../inbox/event.ts';
import { shortTime, timestamp } from '../../ops/words/format.ts';
import { parseDuration } from '../../ops/words/read-time.ts';
import type { Visit } from '../visit.ts';
import { FIELDS, LABELS, TIMES } from './filter-fields.ts';
import { Choices, Field, SelectField } from './form-fields.tsx';
import { GroupName } from './filter-words.tsx';
import { StoredText } from './text.tsx';

type Input = readonly [name: string, label: string, hint: string];

const INPUTS: readonly Input[] = [
  ['entity', 'Entity', 'ord_42, or order:mer_7:ord_42'],
  ['id', 'Event id', 'evt_…'],
  ['text', 'Text', 'in ids, types, entities or errors'],
  ['error', 'Last error', 'contains'],
  ['since', 'Received since', '2h, 14:00, or 2026-01-31'],
  ['until', 'until', '15m, or a time (UTC)'],
  ['failedSince', 'Failed since', '2h, 14:00, or 2026-01-31'],
  ['failedUntil', 'until', '15m, or a time (UTC)'],
];

const MORE_INPUTS: readonly Input[] = [
  ['endpoint', 'Endpoint', 'default'],
  ['fingerprint', 'Group of dead events', ''],
  ['ignoredSince', 'Ignored (no handler) since', '7d, or a time (UTC)'],
  ['bulk', 'Bulk action', 'number'],
];

const YES_OR_NO = [
  ['retrying', 'Waiting for a retry'],
  ['redelivered', 'Redelivered'],
  ['conflict', 'Has conflicts'],
] as const;

const ANSWERS = [
  ['', 'any'],
  ['yes', 'yes'],
  ['no', 'no'],
] as const;

const FOLDED = ['type', 'deadReason', 'merchant', 'body', ...[...MORE_INPUTS, ...YES_OR_NO].map(([name]) => name)];

export function filterForm(visit: Visit, fields: URLSearchParams, filter: EventFilter, isOpen: boolean) {
  const action = `${visit.base}/events`;
  const isFolded = FOLDED.every((name) => (fields.get(name) ?? '') === '');
  const given = FIELDS.flatMap((name) => fields.getAll(name).map((value) => [name, value.trim()] as const));
  const conditions = fields.getAll('body').filter((text) => text.trim() !== '');
  return (
    <details class="filtering" id="filtering" open={isOpen}>
      <summary>
        Filter
        {given.map(
          ([name, value]) =>
            value !== '' && (
              <span class="set">
                <span class="muted">{name === 'id' ? 'event id' : (LABELS.get(name) ?? name)}</span>{' '}
                {shownValue(name, value, filter, visit)}
              </span>
            ),
        )}
      </summary>
      <form method="get" action={action} class="filters panel" id="filters" role="search" aria-label="Filter">
        {fields.getAll('event').map((event) => (
          <input type="hidden" name="event" value={event} />
        ))}
        <div class="row">{INPUTS.map((input) => textField(input, fields))}</div>
        <Choices legend="State" name="state" options={eventStates} chosen={fields.getAll('state')} />
        <details open={!isFolded}>
          <summary>More</summary>
          <Choices legend="Type" name="type" options={typesOf(fields)} chosen={fields.getAll('type')}>
            <Field label="Another type" name="type" maxlength={255} autocomplete="off" />
          </Choices>
          <Choices legend="Dead reason" name="deadReason" options={deadReasons} chosen={fields.getAll('deadReason')} />
          <div class="row">
            {textField(['merchant', 'Merchant', 'mer_7'], fields)}
            {[...conditions, ''].map((text, n) =>
              textField(['body', n === 0 ? 'Body contains' : 'and', 'data.items[0].name=Tea'], fields, text),
            )}
            {MORE_INPUTS.map((input) => textField(input, fields))}
            {YES_OR_NO.map(([name, label]) => (
              <SelectField label={label} name={name} value={fields.get(name) ?? ''} options={ANSWERS} />
            ))}
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

function shownValue(name: string, value: string, filter: EventFilter, visit: Visit) {
  if (name === 'fingerprint' && value === filter.fingerprint) {
    const { retrying = false, bulk } = filter;
    return <GroupName place={{ fingerprint: value, retrying, ...(bulk !== undefined && { bulk }) }} visit={visit} />;
  }
  const time = TIMES.find((one) => one === name);
  const at = time === undefined ? undefined : filter[time];
  if (at === undefined) return <StoredText text={value} atMost={40} />;
  return (
    <time datetime={at.toISOString()} title={timestamp(at)}>
      {parseDuration(value) !== null ? `${value} ago` : `${shortTime(at, visit.now)} UTC`}
    </time>
  );
}

function textField([name, label, hint]: Input, fields: URLSearchParams, value = fields.get(name) ?? '') {
  const attributes = { placeholder: hint, maxlength: 1_000, autocomplete: 'off', spellcheck: false };
  return <Field label={label} name={name} value={value} {...attributes} />;
}

function typesOf(fields: URLSearchParams): readonly string[] {
  const chosen = fields.getAll('type').filter((type) => type.trim() !== '');
  return [...new Set([...eventTypes, ...chosen.slice(0, 20)])];
}
