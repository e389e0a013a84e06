import { messageOf } from '../../errors.ts';
import type { EventType } from '../../events/event-types.ts';
import { labelOf, type EventLabel, parseExactly, writtenExactly } from '../../sender/event-json.ts';
import { type FaultPlan, forged, randomFault, randomFaults, letters, seeded } from '../../sender/faults.ts';
import { realClock, virtualClock } from '../../sender/sender-clock.ts';
import { createService, type DeadLetter, type DeliveryAttempt, type DeliveryEnd } from '../../sender/service.ts';
import { fixture } from '../../testing/fixtures.ts';
import type { Progress } from '../shared/interruption.ts';
import { tell, usageError } from '../shared/output.ts';
import type { AttemptFaults, Scenario, ScenarioDelivery } from './scenario-file.ts';
import type { ScenarioReceiver } from './scenario-receivers.ts';

export interface EndedDelivery extends PlannedDelivery {
  readonly outcome: DeliveryEnd['outcome'] | 'rejected' | 'accepted';
  readonly attempts: readonly DeliveryAttempt[];
  readonly copies: readonly DeliveryAttempt[];
  /** the outcome of the last manual retry */
  readonly byHand: DeliveryEnd | null;
}

export type ScenarioRun = Awaited<ReturnType<typeof runScenario>>;

interface RunOptions {
  readonly seed: number;
  readonly receiver: ScenarioReceiver;
  readonly timeScale?: number | undefined;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  /** @param share - the finished part of the scenario, from 0 to 1 */
  readonly onAttempt: (attempt: DeliveryAttempt, share: number) => void;
}

/** Deliveries that are due when the receiver stops or starts already meet its new state. */
const AHEAD_MS = 1;

/** @throws CommandError for a file without a meaning */
export async function runScenario(scenario: Scenario, options: RunOptions) {
  const { seed, receiver, timeScale, progress, onAttempt } = options;
  const plan = planOf(scenario, seed);
  const ids = [...new Set(plan.deliveries.flatMap(({ id }) => (id === null ? [] : [id])))];
  const known = await receiver.known(ids);
  if (known > 0) {
    tell(
      `note: ${known} of these events ${known === 1 ? 'is' : 'are'} already in the inbox of the receiver. To create other events, use a different --seed.`,
    );
  }

  const stop = new AbortController(); // stops waiting if something fails here
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const start = Date.parse(scenario.startAt);
  const keepUp = scenario.receiver.keepsUp ? () => receiver.keepUp() : undefined;
  const clock = timeScale === undefined ? virtualClock(start, keepUp) : realClock({ scale: timeScale, startAt: start });
  const requests: DeliveryAttempt[] = [];
  const retried = new Map<DeadLetter, DeliveryEnd>();
  let ended = 0;
  using service = createService({
    url: receiver.url,
    secret: receiver.secret,
    clock,
    timeoutMs: scenario.sender.timeout,
    concurrency: scenario.sender.concurrency,
    reachable: () => receiver.reachable(),
    signal,
    onAttempt(attempt) {
      requests.push(attempt);
      onAttempt(attempt, ended / plan.deliveries.length);
    },
  });

  type Played = Omit<DeliveryEnd, 'outcome'> & Pick<EndedDelivery, 'outcome'>;

  async function play({ at: after, body, faults, given }: PlannedDelivery): Promise<Played> {
    const at = start + after;
    if (given.forged === undefined) return service.deliver(body, { at, faults });
    const forgery = forged(body, receiver.secret, given.forged);
    const attempt = await service.sendOnce(forgery.body, { at, signature: forgery.signature });
    if (attempt === null) return { outcome: 'interrupted', attempts: [], copies: [] };
    return { outcome: attempt.outcome === 'delivered' ? 'accepted' : 'rejected', attempts: [attempt], copies: [] };
  }

  async function keepToWindows(): Promise<void> {
    for (const window of scenario.down) {
      await clock.until(start + window.from - AHEAD_MS, signal);
      if (signal.aborted) return;
      await clock.hold(() => receiver.goDown());
      await clock.until(start + window.from + window.for - AHEAD_MS, signal);
      await clock.hold(() => receiver.comeUp());
    }
  }

  async function retryDeadLetters(after: number): Promise<void> {
    await clock.until(start + after, signal);
    if (signal.aborted) return;
    await Promise.all(service.deadLetters.map(async (letter) => retried.set(letter, await service.retry(letter))));
  }

  /** If a retry fails, another dead letter takes its place. */
  function lastRetryOf({ deadLetter }: Pick<DeliveryEnd, 'deadLetter'>): DeliveryEnd | null {
    const end = deadLetter === undefined ? undefined : retried.get(deadLetter);
    return end === undefined ? null : (lastRetryOf(end) ?? end);
  }

  const beside = [keepToWindows(), ...scenario.retryDeadLetters.map(retryDeadLetters)];
  const playing = plan.deliveries.map(async (planned) => {
    const end = await play(planned);
    ended += 1;
    return { planned, end };
  });
  const [played] = await Promise.all([Promise.all(playing), ...beside]).finally(() => stop.abort());
  const tookMs = clock.now() - start;
  const interrupted = options.signal.aborted;
  const findings = interrupted ? null : await receiver.findings(ids, progress);
  const deliveries = played.map(({ planned, end }) => ({ ...planned, ...end, byHand: lastRetryOf(end) }));
  const deadLetters = service.deadLetters.length;
  return { plan, deliveries, requests, deadLetters, findings, tookMs, interrupted };
}

interface PlannedDelivery extends EventLabel {
  readonly index: number;
  readonly given: ScenarioDelivery;
  readonly body: Uint8Array;
  readonly at: number;
  readonly faults: FaultPlan;
}

export interface Plan {
  readonly deliveries: readonly PlannedDelivery[];
  /** without forgeries */
  readonly events: ReadonlyMap<string, Uint8Array>;
}

/** The same seed gives the same bytes and the same faults. */
export function planOf(scenario: Scenario, seed: number): Plan {
  const named = new Map<string, readonly Uint8Array[]>();
  const events = new Map<string, Uint8Array>();
  const deliveries: PlannedDelivery[] = [];
  /** those that get random faults, each event only once: its second delivery would have the same faults again */
  const faulty = new Map<PlannedDelivery, string>();

  for (const [index, given] of scenario.deliveries.entries()) {
    const bodies = bodiesOf(scenario, seed, index, named);
    if (given.name !== undefined && given.forged === undefined) named.set(given.name, bodies);
    for (const [n, body] of bodies.entries()) {
      const label = labelOf(body);
      const { id } = label;
      const isNew = given.forged === undefined && id !== null && !events.has(id);
      if (isNew) events.set(id, body);
      for (let time = 0; time < given.times; time += 1) {
        const at = given.at + n * given.every;
        const faults = ownFaults(given.faults, seed, index, n, time);
        const planned = { ...label, index, given, body, at, faults };
        deliveries.push(planned);
        if (isNew && time === 0 && given.faults.length === 0) faulty.set(planned, id);
      }
    }
  }
  if (scenario.randomFaults === undefined) return { deliveries, events };
  const { count, kinds } = scenario.randomFaults;
  try {
    const faults = randomFaults({ seed, count, ...(kinds && { kinds }), ids: [...faulty.values()] });
    return { deliveries: deliveries.map((each) => (faulty.has(each) ? { ...each, faults } : each)), events };
  } catch (failure) {
    throw usageError(`randomFaults: ${messageOf(failure)}`);
  }
}

function bodiesOf(
  { deliveries, startAt }: Scenario,
  seed: number,
  index: number,
  named: ReadonlyMap<string, readonly Uint8Array[]>,
): readonly Uint8Array[] {
  const given = deliveries[index] as ScenarioDelivery;
  const { type, again, fixture: file, body, count } = given;
  if (body !== undefined) return [Buffer.from(body)];
  if (again !== undefined) {
    const bodies = named.get(again);
    if (bodies !== undefined) return bodies;
    throw usageError(`deliveries.${index}.again: no earlier delivery has the name "${again}".`);
  }
  if (file !== undefined) {
    try {
      return [fixture(file)];
    } catch {
      const place = `deliveries.${index}.fixture`;
      throw usageError(
        `${place}: the fixture "${file}" does not exist. To list all fixtures, run hookbox fixtures list.`,
      );
    }
  }
  return Array.from({ length: count }, (_, n) => {
    const created = new Date(Date.parse(startAt) + (given.created ?? given.at) + n * given.every);
    return eventBody(type as EventType, given, { seed, created, key: `${index}/${n}`, n });
  });
}

interface NewEvent {
  readonly seed: number;
  readonly created: Date;
  readonly key: string;
  readonly n: number;
}

/** An event like its fixture, about a new order, cart or product. */
function eventBody(type: EventType, { subject = '', data = {} }: ScenarioDelivery, made: NewEvent): Uint8Array {
  const { seed, created, key, n } = made;
  const event = parseExactly(fixture(type).toString()) as { readonly data: object }; // as every fixture of a type
  const [family = ''] = type.split('.');
  const [field, prefix] = { inventory: ['product_id', 'prod'], cart: ['id', 'cart'] }[family] ?? ['id', 'ord'];
  const about = `${prefix}_${letters(seeded(seed, 'subject', family, subject, n), 16)}`;
  const id = `evt_${letters(seeded(seed, 'event', key), 16)}`;
  const all = {
    ...event,
    id,
    created: created.toISOString(),
    data: { ...event.data, [field as string]: about, ...data },
  };
  return Buffer.from(writtenExactly(all));
}

/** The seed chooses the values that the file leaves open. */
function ownFaults(given: readonly AttemptFaults[], seed: number, ...key: readonly number[]): FaultPlan {
  return (_id, attempt) => {
    const faults = given[attempt - 1] ?? [];
    return (Array.isArray(faults) ? faults : [faults]).map((each, at) => {
      return typeof each === 'string' ? randomFault(each, seeded(seed, 'fault', ...key, attempt, at)) : each;
    });
  };
}
