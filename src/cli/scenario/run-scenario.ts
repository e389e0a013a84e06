import { realClock, virtualClock, type SenderClock } from '../../sender/sender-clock.ts';
import {
  createService,
  type DeadLetter,
  type DeliveryAttempt,
  type DeliveryEnd,
  type Service,
} from '../../sender/service.ts';
import { forged } from '../../sender/forgeries.ts';
import { planOf, type Plan, type PlannedDelivery } from './plan-deliveries.ts';
import type { Findings, ScenarioReceiver } from './scenario-receiver.ts';
import type { Scenario } from './scenario-schema.ts';

/** How one planned delivery ended. */
export interface EndedDelivery extends PlannedDelivery {
  readonly outcome: DeliveryEnd['outcome'] | 'rejected' | 'accepted';
  readonly attempts: readonly DeliveryAttempt[];
  readonly copies: readonly DeliveryAttempt[];
  /** how the last manual retry ended, with every try; `null` where there was none */
  readonly byHand: DeliveryEnd | null;
}

/** Everything that is known when a scenario is over. */
export interface ScenarioRun {
  readonly plan: Plan;
  /** in the order of the plan */
  readonly deliveries: readonly EndedDelivery[];
  /** each try and each copy of one, in the order in which they ended */
  readonly requests: readonly DeliveryAttempt[];
  readonly deadLetters: number;
  readonly findings: Findings | null;
  /** on the service's clock */
  readonly tookMs: number;
  readonly interrupted: boolean;
}

/** Where a scenario is played to, how fast, and who is told of it. */
export interface RunOptions {
  readonly seed: number;
  readonly receiver: ScenarioReceiver;
  /** real time divided by this; no time at all unless set */
  readonly timeScale?: number;
  readonly signal: AbortSignal;
  /** called at the beginning with how many of its events the receiver holds already */
  readonly onKnown?: (count: number) => void;
  /** called when the receiver has events left to handle at the end, with how many */
  readonly onWait?: (count: number) => void;
  /** called after each request, with how much of the scenario is over, from 0 to 1 */
  readonly onAttempt?: (attempt: DeliveryAttempt, share: number) => void;
}

/** What is due at the same time as the receiver goes down or comes up finds it so. */
const AHEAD_MS = 1;

/**
 * Plays a scenario to a receiver, from the first delivery until nothing is left to send.
 *
 * @throws CommandError for what the file cannot mean
 */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<ScenarioRun> {
  const { seed, receiver, onAttempt, onKnown, onWait = () => {} } = options;
  const plan = planOf(scenario, seed);
  const ids = [...new Set(plan.deliveries.flatMap(({ id }) => (id === null ? [] : [id])))];
  const known = await receiver.known(ids);
  if (known > 0) onKnown?.(known);

  const stop = new AbortController(); // ends waiting when something fails here
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const start = Date.parse(scenario.startAt);
  const clock = clockFor(scenario, start, options);
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
      onAttempt?.(attempt, ended / plan.deliveries.length);
    },
  });

  const goingOn = [
    keepToWindows(scenario, receiver, clock, start, signal),
    ...scenario.retryDeadLetters.map((at) => retryDeadLetters(service, clock, start + at, signal, retried)),
  ];
  const playing = plan.deliveries.map(async (planned) => {
    const end = await play(planned, service, receiver.secret, start);
    ended += 1;
    return { planned, end };
  });
  const [played] = await Promise.all([Promise.all(playing), ...goingOn]).finally(() => stop.abort());
  const tookMs = clock.now() - start;
  const interrupted = options.signal.aborted;
  const findings = interrupted ? null : await receiver.findings(ids, onWait);
  const deliveries = played.map(({ planned, end }) => ({ ...planned, ...end, byHand: lastOf(retried, end) }));
  const deadLetters = service.deadLetters.length;
  return { plan, deliveries, requests, deadLetters, findings, tookMs, interrupted };
}

function clockFor(scenario: Scenario, startAt: number, { receiver, timeScale }: RunOptions): SenderClock {
  if (timeScale !== undefined) return realClock({ scale: timeScale, startAt });
  return virtualClock(startAt, scenario.receiver.keepsUp ? () => receiver.keepUp() : undefined);
}

async function play(
  { at, body, faults, given }: PlannedDelivery,
  service: Service,
  secret: string,
  start: number,
): Promise<Omit<DeliveryEnd, 'outcome'> & Pick<EndedDelivery, 'outcome'>> {
  if (given.forged === undefined) return service.deliver(body, { at: start + at, faults });
  const forgery = forged(body, secret, given.forged);
  const attempt = await service.sendOnce(forgery.body, { at: start + at, signature: forgery.signature });
  if (attempt === null) return { outcome: 'interrupted', attempts: [], copies: [] };
  return { outcome: attempt.outcome === 'delivered' ? 'accepted' : 'rejected', attempts: [attempt], copies: [] };
}

async function keepToWindows(
  { down }: Scenario,
  receiver: ScenarioReceiver,
  clock: SenderClock,
  start: number,
  signal: AbortSignal,
): Promise<void> {
  for (const window of down) {
    await clock.until(start + window.from - AHEAD_MS, signal);
    if (signal.aborted) return;
    await clock.hold(() => receiver.goDown());
    await clock.until(start + window.from + window.for - AHEAD_MS, signal);
    await clock.hold(() => receiver.comeUp());
  }
}

/** @param retried - what became of each letter is noted there */
async function retryDeadLetters(
  service: Service,
  clock: SenderClock,
  at: number,
  signal: AbortSignal,
  retried: Map<DeadLetter, DeliveryEnd>,
): Promise<void> {
  await clock.until(at, signal);
  if (signal.aborted) return;
  await Promise.all(service.deadLetters.map(async (letter) => retried.set(letter, await service.retry(letter))));
}

/** A dead letter whose retry fails is followed by another. */
function lastOf(
  retried: ReadonlyMap<DeadLetter, DeliveryEnd>,
  { deadLetter }: Pick<DeliveryEnd, 'deadLetter'>,
): DeliveryEnd | null {
  const end = deadLetter === undefined ? undefined : retried.get(deadLetter);
  return end === undefined ? null : (lastOf(retried, end) ?? end);
}
