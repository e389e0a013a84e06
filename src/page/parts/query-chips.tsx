import type { EventFilter } from '../../inbox/operator/search.ts';
import { operationsOf } from '../../ops/operations-of.ts';
import { bounded, shortTime, timestamp } from '../../ops/words/format.ts';
import { parseDuration } from '../../ops/words/read-time.ts';
import type { Visit } from '../visit.ts';
import { hrefOf, LABELS, TIMES } from './filter-fields.ts';
import { GroupName } from './filter-words.tsx';
import { Icon } from './icon.tsx';
import { readListQuery } from './list-query.tsx';
import { StoredText } from './text.tsx';

type Fields = readonly (readonly [name: string, value: string])[];

const CHIPS = ['pending', 'retrying', 'processing', 'dead', 'processed', 'ignored', 'discarded'] as const;
type Chip = (typeof CHIPS)[number];

interface ChipParts {
  readonly visit: Visit;
  readonly fields: Fields;
  readonly filter: EventFilter;
}

/** Each chip leads to the events in its state that match the other conditions. */
export async function StateChips({
  visit,
  fields,
  filter,
  isRefused,
}: ChipParts & {
  readonly isRefused: boolean;
}) {
  const counts = isRefused ? new Map<Chip, string>() : await countsOf(visit, filter);
  const others = fields.filter(([name]) => name !== 'state' && name !== 'retrying');
  const href = (...more: Fields): string => hrefOf(`${visit.base}/events`, [...others, ...more]);
  const { states, retrying } = filter;
  const isCurrent = (chip: Chip): boolean => {
    return chip === 'retrying' ? retrying === true : states?.includes(chip) === true;
  };
  return (
    <nav aria-label="States" id="states">
      <ul class="chips">
        <li>
          <a class="chip" href={href()} aria-current={states === undefined && retrying !== true ? 'true' : undefined}>
            All
          </a>
        </li>
        {CHIPS.map((chip) => (
          <li>
            <a
              class="chip"
              href={href(chip === 'retrying' ? ['retrying', 'yes'] : ['state', chip])}
              aria-current={isCurrent(chip) ? 'true' : undefined}
            >
              <span class={`state-${chip}`}>{chip}</span>
              {counts.has(chip) && (
                <>
                  {' '}
                  <span class="count">{counts.get(chip)}</span>
                </>
              )}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const LOOKED_AT = 500;

/** The inbox keeps the counts of states. With further conditions, a few hundred events are counted. */
async function countsOf({ operated, liveOnly, url }: Visit, filter: EventFilter): Promise<ReadonlyMap<Chip, string>> {
  // The script that continues a search shows only its rows.
  if (liveOnly && readListQuery(url).isFurther) return new Map();
  const { states: _states, retrying: _retrying, ...others } = filter;
  if (Object.keys(others).length === 0) {
    const gauges = await operationsOf(operated.inbox).gauges();
    return new Map(CHIPS.flatMap((chip) => (chip === 'processed' ? [] : [[chip, bounded(gauges[chip])]])));
  }
  const { text, error, body, bodyText, events } = others;
  if ((text ?? error ?? body ?? bodyText ?? events) !== undefined) return new Map();
  const counted = await Promise.all(
    CHIPS.map(async (chip): Promise<[Chip, string][]> => {
      const own: EventFilter = chip === 'retrying' ? { retrying: true } : { states: [chip] };
      const { count, more, cut } = await operationsOf(operated.inbox).countFound(
        { ...others, ...own },
        { examined: LOOKED_AT },
      );
      return cut && count === 0 ? [] : [[chip, bounded({ count, more: more || cut })]];
    }),
  );
  return new Map(counted.flat());
}

/** The conditions except the states, each with a link that removes it. */
export function FilterChips({ visit, fields, filter }: ChipParts) {
  const shown = fields.filter(([name, value]) => name !== 'state' && !(name === 'retrying' && value === 'yes'));
  if (shown.length === 0) return <></>;
  const without = (gone: Fields[number]): string =>
    hrefOf(
      `${visit.base}/events`,
      fields.filter((field) => field !== gone),
    );
  const states = fields.filter((field) => !shown.includes(field));
  return (
    <ul class="chips" id="conditions" aria-label="Conditions">
      {shown.map((field) => {
        const [name, value] = field;
        const label = name === 'id' ? 'event id' : (LABELS.get(name) ?? name);
        return (
          <li>
            <a class="chip" href={without(field)}>
              <span class="unseen">Remove </span>
              <span class="muted">{label}</span> <span class="value">{shownValue(name, value, filter, visit)}</span>
              <Icon name="close" />
            </a>
          </li>
        );
      })}
      {shown.length > 1 && (
        <li>
          <a class="plain" href={hrefOf(`${visit.base}/events`, states)}>
            Clear
          </a>
        </li>
      )}
    </ul>
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
