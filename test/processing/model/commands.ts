import * as fc from 'fast-check';
import { choices, type EventContent } from './event-bytes.ts';
import { behaviours, type Behaviour } from './handler-script.ts';
import { isPutAway, type ModelEvent } from './model-event.ts';
import { calls } from './moves.ts';
import { isWorker, roles } from './roles.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

export type Model = { readonly world: World };

type Run = (world: World) => Promise<void> | void;

class Step implements fc.AsyncCommand<Model, World> {
  readonly #name: string;
  readonly #possible: (world: World) => boolean;
  readonly #run: Run;

  constructor(name: string, run: Run, possible: (world: World) => boolean = () => true) {
    this.#name = name;
    this.#run = run;
    this.#possible = possible;
  }

  check({ world }: Readonly<Model>): boolean {
    return this.#possible(world);
  }

  async run(_: Model, world: World): Promise<void> {
    world.commands += 1;
    await this.#run(world);
    await world.observer.release(0);
    await world.check();
  }

  toString(): string {
    return this.#name;
  }
}

const MAX_PROCESSES = 4;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const longTimes: readonly (readonly [number, number])[] = [
  [0.425 * HOUR, 306_000],
  [3 * HOUR, HOUR],
  [8 * DAY, 4 * DAY],
];

const nth = fc.nat(7);
const content: fc.Arbitrary<EventContent> = fc.record({
  type: fc.nat(choices.types - 1),
  entity: fc.nat(choices.entities - 1),
  created: fc.nat(choices.created - 1),
  valid: fc.oneof({ weight: 7, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  note: fc.nat(1),
});
const script: fc.Arbitrary<readonly Behaviour[]> = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.constantFrom(...behaviours, 'pause the type'), { maxLength: 4 }) },
  { weight: 2, arbitrary: fc.constant(Array<Behaviour>(3).fill('kill the process')) },
  { weight: 1, arbitrary: fc.constant(Array<Behaviour>(3).fill('fail')) },
  { weight: 2, arbitrary: fc.constant(Array<Behaviour>(2).fill('wait for the signal')) },
);

/** With many more deliveries, waits and releases than faults. */
export function histories(): fc.Arbitrary<Iterable<fc.AsyncCommand<Model, World>>> {
  return fc.commands(
    [
      ...Array<fc.Arbitrary<Step>>(5).fill(
        fc.tuple(content, script, nth).map(
          ([content, script, to]) =>
            new Step(
              `send ${JSON.stringify(content)} for [${script.join(', ')}] to ${to}`,
              (world) => withOne(receivers(world), to, (process) => world.service.sendNew(content, script, process)),
              (world) => receivers(world).length > 0,
            ),
        ),
      ),
      fc.tuple(nth, content, fc.boolean(), nth).map(
        ([which, other, same, to]) =>
          new Step(
            `resend no. ${which}${same ? '' : ` as ${JSON.stringify(other)}`} to ${to}`,
            (world) =>
              withOne(receivers(world), to, (process) =>
                withOne(world.service.sent, which, ({ id, contents }) =>
                  world.service.send(id, (same ? contents[0] : undefined) ?? other, process),
                ),
              ),
            (world) => receivers(world).length > 0 && world.service.sent.length > 0,
          ),
      ),
      ...Array<fc.Arbitrary<Step>>(3).fill(
        fc.integer({ min: 1, max: 8 }).map((n) => new Step(`release ${n}`, (world) => world.observer.release(n))),
      ),
      ...Array<fc.Arbitrary<Step>>(3).fill(
        fc
          .constantFrom(100, 400, 1_000, 2_500, 4_000)
          .map((ms) => new Step(`wait ${ms} ms`, (world) => world.advance(ms))),
      ),
      fc.constantFrom(6_000, 12_000, 25_000).map((ms) => new Step(`wait ${ms} ms`, (world) => world.advance(ms))),
      fc
        .tuple(fc.constantFrom(300, 1_500, 4_000), fc.nat(3))
        .map(([ms, n]) => new Step(`wait ${ms} ms with ${n} releases`, (world) => world.advanceSlowly(ms, n))),
      fc
        .tuple(fc.constantFrom(4_000, 310_000, 660_000, 660_000), fc.nat(3))
        .map(([ms, n]) => new Step(`suspend ${ms} ms with ${n} releases`, (world) => world.suspend(ms, n))),
      fc
        .constantFrom(-3 * HOUR, -660_000, -20_000, -700, 700, 3_500, 20_000, 660_000, 3 * HOUR, 8 * DAY)
        .map((ms) => new Step(`set the clock by ${ms} ms`, (world) => world.jump(ms))),
      fc
        .constantFrom(2_000, 6_000, 20_000)
        .map((ms) => new Step(`fill the disk for ${ms} ms`, (world) => world.fillDisk(ms))),
      fc
        .tuple(fc.constantFrom(...longTimes), fc.constantFrom('close', 'crash', null))
        .map(([[ms, stepMs], leave]) =>
          leave === null
            ? new Step(`wait ${ms / HOUR} h`, (world) => world.pass(ms, stepMs))
            : new Step(`workers ${leave} and stay away for ${ms / HOUR} h`, (world) => world.away(ms, stepMs, leave)),
        ),
      fc.constantFrom(...roles).map(
        (role) =>
          new Step(
            `start ${role}`,
            (world) => void world.start(role),
            ({ processes }) => processes.length < MAX_PROCESSES,
          ),
      ),
      onOne('close', open, (world, process) => world.close(process)),
      ...Array<fc.Arbitrary<Step>>(3).fill(
        onOne('close and wait 12000 ms', busy, async (world, process) => {
          world.close(process);
          await world.advance(12_000);
        }),
      ),
      ...Array<fc.Arbitrary<Step>>(2).fill(
        onOne('close and kill after 1600 ms', busy, (world, process) => world.kill(process, 1_600)),
      ),
      fc.tuple(fc.constantFrom(...calls), fc.constantFrom('before', 'after')).map(
        ([call, at]) =>
          new Step(`crash whoever calls ${call} next, ${at} it takes effect`, ({ observer }) => {
            observer.ambush = { call, at };
          }),
      ),
      onOne('crash', running, (world, process) => world.crash(process)),
      onOne('freeze', awake, (world, process) => world.freeze(process)),
      onOne('thaw', frozen, (world, process) => world.thaw(process)),
      onOne('fail the next call of', running, (world, process) => world.failNextCall(process)),
      fc.tuple(nth, content, nth).map(
        ([which, mended, to]) =>
          new Step(
            `mend ${which} to ${to}`,
            (world) =>
              withOne(receivers(world), to, (process) =>
                withOne(broken(world), which, ({ id }) => world.service.send(id, { ...mended, valid: true }, process)),
              ),
            (world) => receivers(world).length > 0 && broken(world).length > 0,
          ),
      ),
      onEvent('rerun', rerunnable),
      ...(['ignored', 'discarded'] as const).map((state) =>
        onEvent(`rerun of those ${state}`, (world) => rerunnable(world).filter((event) => event.state === state)),
      ),
      ...(['failed', 'crashed'] as const).map((reason) =>
        onEvent(`rerun of those that ${reason}`, (world) =>
          rerunnable(world).filter(({ deadReason }) => deadReason === reason),
        ),
      ),
      // One in four: with more, few would be left for other commands.
      onEvent('discard', (world) => discardable(world).filter(({ seq }) => seq % 4 === 0), discard),
      onEvent('discard of those that died', (world) => discardable(world).filter(hasDied), discard),
    ],
    { maxCommands: 120, size: 'max' },
  );
}

function onEvent(
  name: string,
  some: (world: World) => readonly ModelEvent[],
  act = (world: World, event: ModelEvent): void => world.rerun(event),
): fc.Arbitrary<Step> {
  return nth.map(
    (which) =>
      new Step(
        `${name} ${which}`,
        (world) => withOne(some(world), which, (event) => act(world, event)),
        (world) => some(world).length > 0,
      ),
  );
}

function onOne(
  name: string,
  some: (world: World) => readonly SimulatedProcess[],
  act: (world: World, process: SimulatedProcess) => Promise<void> | void,
): fc.Arbitrary<Step> {
  return nth.map(
    (which) =>
      new Step(
        `${name} ${which}`,
        (world) => withOne(some(world), which, (process) => act(world, process)),
        (world) => some(world).length > 0,
      ),
  );
}

function withOne<T>(all: readonly T[], which: number, act: (one: T) => Promise<void> | void): Promise<void> | void {
  const one = all[which % all.length];
  if (one !== undefined) return act(one);
}

const running = ({ processes }: World): SimulatedProcess[] =>
  processes.filter(({ life, closed }) => !life.dead && !closed);
const open = (world: World): SimulatedProcess[] => running(world).filter(({ closing }) => !closing);
const busy = (world: World): SimulatedProcess[] => open(world).filter(({ role }) => isWorker(role));
const receivers = (world: World): SimulatedProcess[] =>
  open(world).filter(({ receives, life }) => receives !== undefined && !life.frozen);
const awake = (world: World): SimulatedProcess[] => running(world).filter(({ life }) => !life.frozen);
const frozen = (world: World): SimulatedProcess[] => running(world).filter(({ life }) => life.frozen);
const broken = ({ model }: World) => model.events.filter(({ deadReason }) => deadReason === 'invalid');
const rerunnable = ({ model }: World) => model.events.filter(isPutAway);
const discardable = ({ model, hasOperators }: World) =>
  hasOperators ? model.events.filter(({ state }) => state === 'pending' || state === 'dead') : [];
const hasDied = ({ deadReason }: ModelEvent): boolean => deadReason === 'failed' || deadReason === 'crashed';
const discard = (world: World, event: ModelEvent): void => world.discard(event);
