import type { EventType } from '../../events/event-types.ts';
import { messageOf } from '../../errors.ts';
import { fixture } from '../../testing/fixtures.ts';
import { labelOf, type EventLabel } from '../../sender/event-label.ts';
import type { Fault, FaultPlan } from '../../sender/faults.ts';
import { randomFault, randomFaults, type RandomFaultOptions } from '../../sender/random-faults.ts';
import { letters, seeded } from '../../sender/seeded-random.ts';
import { usageError } from '../shared/output.ts';
import { parseExactly, writtenExactly } from '../../sender/exact-json.ts';
import type { AttemptFaults, Scenario, ScenarioDelivery } from './scenario-schema.ts';

/** One event on its way, with the place in the file that asked for it. */
export interface PlannedDelivery extends EventLabel {
  /** its place in `deliveries` */
  readonly index: number;
  readonly given: ScenarioDelivery;
  readonly body: Uint8Array;
  /** milliseconds since the start */
  readonly at: number;
  readonly faults: FaultPlan;
}

/** Every delivery of a scenario, and the events that come with them. */
export interface Plan {
  readonly deliveries: readonly PlannedDelivery[];
  /** what the service has sent under each id; what is forged is not among them */
  readonly events: ReadonlyMap<string, Uint8Array>;
}

/**
 * Works out every delivery of a scenario. The same seed gives the same bytes and the same faults.
 *
 * @throws CommandError for what the file cannot mean
 */
export function planOf(scenario: Scenario, seed: number): Plan {
  const named = new Map<string, readonly Uint8Array[]>();
  const events = new Map<string, Uint8Array>();
  const deliveries: PlannedDelivery[] = [];
  const dealTo = new Set<string>();
  const dealt = new Set<PlannedDelivery>();

  for (const [index, given] of scenario.deliveries.entries()) {
    const bodies = bodiesOf(scenario, seed, index, named);
    if (given.name !== undefined && given.forged === undefined) named.set(given.name, bodies);
    for (const [n, body] of bodies.entries()) {
      const label = labelOf(body);
      const isFirst = given.forged === undefined && label.id !== null && !events.has(label.id);
      if (isFirst && label.id !== null) events.set(label.id, body);
      for (let time = 0; time < given.times; time += 1) {
        const at = given.at + n * given.every;
        const faults = ownFaults(given.faults, seed, index, n, time);
        const planned = { ...label, index, given, body, at, faults };
        deliveries.push(planned);
        // Only once: the same event would have the same faults again.
        if (!isFirst || time > 0 || given.faults.length > 0 || label.id === null) continue;
        dealTo.add(label.id);
        dealt.add(planned);
      }
    }
  }

  if (scenario.randomFaults === undefined) return { deliveries, events };
  const { count, kinds } = scenario.randomFaults;
  const faults = dealtTo([...dealTo], { seed, count, ...(kinds && { kinds }) });
  return { deliveries: deliveries.map((each) => (dealt.has(each) ? { ...each, faults } : each)), events };
}

function dealtTo(ids: readonly string[], options: Omit<RandomFaultOptions, 'ids'>): FaultPlan {
  try {
    return randomFaults({ ...options, ids });
  } catch (failure) {
    throw usageError(`randomFaults: ${messageOf(failure)}`);
  }
}

/** The bodies of one entry of `deliveries`. */
function bodiesOf(
  { deliveries, startAt }: Scenario,
  seed: number,
  index: number,
  named: ReadonlyMap<string, readonly Uint8Array[]>,
): readonly Uint8Array[] {
  const given = deliveries[index];
  if (given === undefined) return [];
  const { type, again, fixture: file, body, count } = given;
  if (body !== undefined) return [Buffer.from(body)];
  if (again !== undefined) {
    const bodies = named.get(again);
    if (bodies === undefined)
      throw usageError(`deliveries.${index}.again: no earlier delivery has the name "${again}".`);
    return bodies;
  }
  if (file !== undefined) return [fixtureAt(file, `deliveries.${index}.fixture`)];
  if (type === undefined) return [];
  const start = Date.parse(startAt);
  return Array.from({ length: count }, (_, n) => {
    const created = new Date(start + (given.created ?? given.at) + n * given.every);
    return eventBody(seed, type, given, { created, key: `${index}/${n}`, n });
  });
}

function fixtureAt(name: string, place: string): Uint8Array {
  try {
    return fixture(name);
  } catch {
    throw usageError(
      `${place}: the fixture "${name}" does not exist. To list all fixtures, run hookbox fixtures list.`,
    );
  }
}

/** An event like its fixture, with numbers as they stand there, under an id and about an order, cart or product of its own. */
function eventBody(
  seed: number,
  type: EventType,
  { subject = '', data = {} }: ScenarioDelivery,
  { created, key, n }: { readonly created: Date; readonly key: string; readonly n: number },
): Uint8Array {
  const event = parseExactly(fixture(type).toString()) as { readonly data: object }; // as every fixture of a type
  const [family = ''] = type.split('.');
  const { field, prefix } = SUBJECTS[family] ?? DEFAULT_SUBJECT;
  const about = `${prefix}_${letters(seeded(seed, 'subject', family, subject, n), 16)}`;
  const id = `evt_${letters(seeded(seed, 'event', key), 16)}`;
  const all = { ...event, id, created: created.toISOString(), data: { ...event.data, [field]: about, ...data } };
  return Buffer.from(writtenExactly(all));
}

const DEFAULT_SUBJECT = { field: 'id', prefix: 'ord' };
const SUBJECTS: Readonly<Record<string, typeof DEFAULT_SUBJECT>> = {
  inventory: { field: 'product_id', prefix: 'prod' },
  cart: { field: 'id', prefix: 'cart' },
};

/** The faults that the file gives to a try; figures that it leaves open come from the seed. */
function ownFaults(given: readonly AttemptFaults[], seed: number, ...key: readonly number[]): FaultPlan {
  return (_id, attempt) => {
    const faults = given[attempt - 1] ?? null;
    if (faults === null) return [];
    return (Array.isArray(faults) ? faults : [faults]).map((each, at) => {
      return typeof each === 'string' ? randomFault(each, seeded(seed, 'fault', ...key, attempt, at)) : exact(each);
    });
  };
}

function exact(given: Exclude<AttemptFaults, string | null | readonly unknown[]>): Fault {
  if (given.kind === 'late') return { kind: 'late', ms: given.by };
  if (given.kind === 'burst') return { kind: 'burst', everyMs: given.every };
  if (given.kind === 'slow-body') return { kind: 'slow-body', ms: given.over };
  return given;
}
