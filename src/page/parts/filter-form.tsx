import { eventTypes } from '../../events/event-types.ts';
import { deadReasons } from '../../inbox/event.ts';
import type { Visit } from '../visit.ts';
import { Field, SelectField } from './form-fields.tsx';
import { Icon } from './icon.tsx';

type Input = readonly [name: string, label: string, hint: string];

const INPUTS: readonly Input[] = [
  ['entity', 'Entity', 'ord_42'],
  ['bodyText', 'Body contains', 'ada@shop.example'],
  ['error', 'Last error contains', 'timed out'],
  ['id', 'Event id', 'evt_…'],
  ['merchant', 'Merchant', 'mer_7'],
  ['endpoint', 'Endpoint', 'default'],
];

const SPANS: readonly (readonly Input[])[] = [
  [
    ['since', 'Received since', '2h, 14:00, or 2026-01-31'],
    ['until', 'Received before', '15m, or a time (UTC)'],
  ],
  [
    ['failedSince', 'Failed since', '2h, 14:00, or 2026-01-31'],
    ['failedUntil', 'Failed before', '15m, or a time (UTC)'],
  ],
];

const ANSWERS = [
  ['', 'any'],
  ['yes', 'yes'],
  ['no', 'no'],
] as const;

const CHOICES = [
  ['deadReason', 'Dead reason', [['', 'any'], ...deadReasons.map((reason) => [reason, reason] as const)]],
  ['retrying', 'Waiting for a retry', ANSWERS],
  ['redelivered', 'Redelivered', ANSWERS],
  ['conflict', 'Has conflicts', ANSWERS],
  ['superseded', 'Superseded', ANSWERS],
] as const;

/** The first value of these can be changed; the form keeps the others as they are. */
const ONCE = new Set<string>([...INPUTS, ...SPANS.flat(), ...CHOICES].map(([name]) => name));
const REPEATED = new Set(['type', 'body']);

/** The search box without its syntax. */
export function filterForm(visit: Visit, fields: readonly (readonly [name: string, value: string])[]) {
  const first = new Map(fields.filter(([name]) => ONCE.has(name)).toReversed());
  const kept = fields.filter(([name, value]) => !REPEATED.has(name) && first.get(name) !== value);
  const all = (name: string): readonly string[] => fields.flatMap(([other, value]) => (other === name ? value : []));
  const input = ([name, label, hint]: Input) => (
    <Field label={label} name={name} value={first.get(name) ?? ''} placeholder={hint} {...TEXT} />
  );
  return (
    <details class="menu" id="filtering">
      <summary>
        <Icon name="filter" />
        Filter
        <Icon name="down" />
      </summary>
      <form
        method="get"
        action={`${visit.base}/events`}
        class="filters sheet"
        id="filters"
        role="search"
        aria-label="Filter"
      >
        {kept.map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <div class="row">
          {[...all('type'), ''].map((type, n) => (
            <Field label={n === 0 ? 'Type' : 'or type'} name="type" value={type} list="types" {...TEXT} />
          ))}
          {INPUTS.map(input)}
          {SPANS.map((span) => (
            <div class="pair">{span.map(input)}</div>
          ))}
          {[...all('body'), ''].map((condition) => (
            <Field label="Body has" name="body" value={condition} placeholder="data.items[0].name=Tea" {...TEXT} />
          ))}
          {CHOICES.map(([name, label, options]) => (
            <SelectField label={label} name={name} value={first.get(name) ?? ''} options={options} />
          ))}
        </div>
        <datalist id="types">
          {eventTypes.map((type) => (
            <option value={type} />
          ))}
        </datalist>
        <div class="actions">
          <button type="submit" class="primary">
            Filter
          </button>
          <a href={`${visit.base}/events`}>Clear</a>
        </div>
      </form>
    </details>
  );
}

const TEXT = { maxlength: 1_000, autocomplete: 'off', spellcheck: false };
