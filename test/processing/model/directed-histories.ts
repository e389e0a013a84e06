import type { EventContent } from './event-bytes.ts';
import type { Behaviour } from './handler-script.ts';
import type { Role } from './roles.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

/** Situations in which a rule matters, and which chance finds too seldom. */
export interface DirectedHistory {
  readonly name: string;
  happen(world: World): Promise<void>;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const content = { type: 0, entity: 2, created: 0, valid: true, note: 0 } satisfies EventContent;
const ready = { ...content, type: 1 };

const pass = (world: World, ms: number): Promise<void> => world.pass(ms, 5.1 * MINUTE);

export const outage: DirectedHistory = {
  name: 'a worker is away for hours while another one looks after the same endpoint',
  async happen(world) {
    const web = world.start('web');
    world.start('created');
    const worker = world.start('created and ready');
    await world.advance(1_000);
    worker.close();
    await world.advance(1_000);
    world.service.sendNew(ready, [], web);
    await pass(world, HOUR);
    world.start('created and ready');
    await world.advance(2_000);
  },
};

export const nothingStarted: DirectedHistory = {
  name: 'a processor without handlers is alone for an hour',
  async happen(world) {
    const web = world.start('web');
    world.start('nothing');
    world.service.sendNew(ready, [], web);
    await pass(world, HOUR);
  },
};

export const sleep: DirectedHistory = {
  name: 'the clock jumps forward over a worker that is there, and another one starts',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('created and ready');
    await world.advance(1_000);
    world.freeze(worker);
    world.service.sendNew(ready, [], web);
    await world.advance(1_000);
    world.jump(8 * DAY);
    world.start('created');
    await world.advance(2_000);
    world.thaw(worker);
    await pass(world, 20 * MINUTE);
  },
};

export const heldBack: DirectedHistory = {
  name: 'a newer event waits for an older one whose worker sleeps through a jump of the clock',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('created and ready');
    world.start('created');
    await world.advance(1_000);
    world.service.sendNew({ ...ready, entity: 0 }, ['fail'], web);
    await world.advance(100);
    world.freeze(worker);
    world.service.sendNew({ ...content, entity: 0, created: 2 }, [], web);
    world.jump(3 * HOUR);
    await world.advance(3_000);
    world.thaw(worker);
    await world.advance(3_000);
  },
};

export const leftBehind: DirectedHistory = {
  name: 'a newer event waits for an older one whose worker goes away',
  async happen(world) {
    await leaveBehind(world);
    await pass(world, 40 * MINUTE);
  },
};

export const leftBehindAndSetBack: DirectedHistory = {
  name: 'a newer event waits for an older one whose worker goes away, and the clock is set back',
  async happen(world) {
    await leaveBehind(world);
    await world.advance(1_000);
    world.jump(-3 * HOUR);
    await pass(world, 40 * MINUTE);
  },
};

export const deploy: DirectedHistory = {
  name: 'a handler returns because its processor closes',
  async happen(world) {
    const worker = await handling(world, 'wait for the signal and swallow it', 1_000);
    worker.close();
    await world.advance(12_000);
  },
};

export const killedWhileClosing: DirectedHistory = {
  name: 'three deploys kill a process before its handler has ended',
  async happen(world) {
    const web = world.start('web');
    world.start('all');
    world.service.sendNew(content, Array<Behaviour>(3).fill('ignore the signal'), web);
    for (let n = 0; n < 3; n += 1) {
      await world.advance(6_000);
      const worker = world.processes.find(({ role }) => role === 'all');
      if (worker === undefined) throw new Error('a supervisor starts it again');
      await world.kill(worker, 1_600);
    }
    await world.advance(6_000);
  },
};

export const setBack: DirectedHistory = {
  name: 'the clock is set back while a lease is held and an event waits for its retry',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('all');
    world.service.sendNew(content, ['fail'], web);
    world.service.sendNew(content, ['succeed slowly'], web);
    await world.advance(100);
    world.crash(worker);
    world.jump(-3 * HOUR);
  },
};

export const setBackAndFull: DirectedHistory = {
  name: 'the clock is set back while the disk is full, and how a handler ended is not written yet',
  async happen(world) {
    await handling(world, 'fail slowly', 2_000);
    await world.fillDisk(4_000);
    world.jump(-3 * HOUR);
    await world.fillDisk(3_000);
  },
};

export const fullDisk: DirectedHistory = {
  name: 'the disk is full for longer than a lease while a handler ends',
  async happen(world) {
    await handling(world, 'succeed slowly', 2_000);
    await fillForLong(world);
  },
};

export const fullDiskForMany: DirectedHistory = {
  name: 'the disk is full for longer than a lease, and another worker may write first',
  async happen(world) {
    await handling(world, 'succeed slowly', 600);
    world.start('all');
    await world.advance(1_800);
    await fillForLong(world);
  },
};

export const steppedTwice: DirectedHistory = {
  name: 'two attempts fail after the same step',
  async happen(world) {
    const web = world.start('web');
    world.start('all');
    world.service.sendNew(content, ['take a step, then fail', 'take a step, then fail'], web);
    await world.advance(5_000);
  },
};

export const steppedOver: DirectedHistory = {
  name: 'a worker sleeps through its lease in a step, and wakes up while another one has its event',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('all');
    world.service.sendNew(content, ['take a step slowly, then fail', 'succeed slowly'], web);
    await world.advance(1_000);
    world.freeze(worker);
    world.start('all');
    await world.advance(5_000);
    world.thaw(worker);
    await world.advance(6_000);
  },
};

export const takenOver: DirectedHistory = {
  name: 'a worker sleeps through its lease, and wakes up while another one has its event',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('all');
    world.service.sendNew(content, ['succeed slowly', 'succeed slowly'], web);
    await world.advance(1_000);
    world.freeze(worker);
    world.start('all');
    await world.advance(5_000);
    world.thaw(worker);
    await world.advance(6_000);
  },
};

export const thrownNull: DirectedHistory = {
  name: 'a handler throws null',
  async happen(world) {
    await handling(world, 'throw null', 1_000);
    await world.advance(60_000);
  },
};

export const pausedType: DirectedHistory = {
  name: 'a handler pauses its type, more events of the type come in, and every process is away meanwhile',
  async happen(world) {
    const worker = await handling(world, 'pause the type', 1_000);
    const web = world.start('web');
    world.service.sendNew(content, [], web);
    await world.advance(3_000);
    worker.close();
    await world.advance(1_000);
    world.start('all');
    await world.advance(10_000);
    world.service.sendNew(content, ['pause the type', 'pause the type'], web);
    await world.advance(60_000);
  },
};

const burstFor = (role: Role, name: string): DirectedHistory => ({
  name,
  async happen(world) {
    const web = world.start('web');
    const worker = world.start(role);
    await world.advance(1_000);
    const figure = { ...content, entity: 0 };
    for (const created of [0, 2, 4]) world.service.sendNew({ ...figure, created }, ['fail'], web);
    await world.advance(12_000);
    world.service.sendNew(figure, Array<Behaviour>(3).fill('fail'), web);
    await world.advance(12_000);
    worker.close();
    await world.advance(1_000);
    for (const created of [4, 2]) world.service.sendNew({ ...figure, created }, [], web);
    world.service.sendNew({ ...figure, type: 1, created: 2 }, [], web);
    await world.advance(1_000);
    for (const event of world.model.events.filter(({ deadReason }) => deadReason === 'failed')) world.rerun(event);
    await world.advance(1_000);
    world.start(role);
    await world.advance(12_000);
  },
});

export const burst = burstFor(
  'the latest of all',
  'a burst fails, dies and is rerun, and another one comes while nobody handles it',
);
export const burstOfAll = burstFor('all', 'each event of a burst runs, as its handler has no other wish');

export const pausedAndSetBack: DirectedHistory = {
  name: 'the clock is set back while a handler has paused its type',
  async happen(world) {
    await handling(world, 'pause the type', 1_000);
    world.jump(-3 * HOUR);
    await world.advance(60_000);
  },
};

export const rated: DirectedHistory = {
  name: 'two processes share a rate, and one of them goes away and comes back',
  async happen(world) {
    const worker = await beginRated(world);
    await world.advance(5_000);
    worker.close();
    await world.advance(9_000);
    world.start('rated');
    await world.advance(30_000);
  },
};

export const ratedAndSetBack: DirectedHistory = {
  name: 'the clock is set back while a type has reached its rate',
  async happen(world) {
    await beginRated(world);
    world.jump(-3 * HOUR);
    await world.advance(30_000);
    world.jump(-700);
    await world.advance(30_000);
  },
};

async function beginRated(world: World): Promise<SimulatedProcess> {
  const web = world.start('web and all, rated');
  const worker = world.start('rated');
  world.start('rated');
  for (let n = 0; n < 12; n += 1) world.service.sendNew(content, [], web);
  await world.advance(1_000);
  return worker;
}

export const brokenProvider: DirectedHistory = {
  name: 'a provider is down: two processes open a breaker, one dies as it probes, and the provider is back',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('breaking');
    world.start('breaking');
    for (let n = 0; n < 6; n += 1) world.service.sendNew(content, ['fail', 'fail', 'succeed'], web);
    await world.advance(10_000);
    world.service.sendNew(content, ['kill the process'], web);
    await world.advance(20_000);
    worker.close();
    await world.advance(MINUTE);
    world.start('breaking');
    for (let n = 0; n < 4; n += 1) world.service.sendNew(content, [], web);
    await world.advance(5 * MINUTE);
  },
};

export const ofAnother: DirectedHistory = {
  name: 'what was processed gets old while only another endpoint has a worker',
  async happen(world) {
    const web = world.start('web of b');
    const worker = world.start('created of b');
    world.start('created');
    world.service.sendNew(content, [], web);
    await world.advance(2_000);
    worker.close();
    await pass(world, 10 * MINUTE);
  },
};

export const vanishedRow: DirectedHistory = {
  name: 'the row of an event that waits for its retry is taken away, and an operator reruns it',
  async happen(world) {
    const web = world.start('web');
    const worker = world.start('created and ready');
    world.service.sendNew(content, ['fail'], web);
    await world.advance(100);
    const [event] = world.model.events;
    if (event === undefined) throw new Error('nothing was stored');
    worker.close();
    await world.advance(12_000);
    await world.takeAway(event);
    world.service.send(event.id, content, web);
    await world.advance(1_000);
    world.rerun(event);
    world.start('created and ready');
    await world.advance(2_000);
  },
};

export const lateNumbers: DirectedHistory = {
  name: 'the numbers of events go on between others',
  async happen(world) {
    const web = world.start('web');
    world.start('created and ready');
    world.service.sendNew({ ...content, entity: 0 }, [], web);
    await world.advance(1_000);
    await world.numbersGoOnFrom(100);
    world.service.sendNew({ ...content, entity: 0 }, [], web);
    world.service.sendNew({ ...ready, entity: 1 }, [], web);
    await world.advance(1_000);
    await world.findAll();
    await world.numbersGoOnFrom(50);
    world.service.sendNew({ ...content, entity: 1 }, ['fail'], web);
    await world.advance(5_000);
    await world.findAll();
  },
};

export const besideItsEntity: DirectedHistory = {
  name: 'an event comes in while the one before it of its entity runs',
  async happen(world) {
    const web = world.start('web and all');
    await world.advance(1_000);
    world.service.sendNew({ ...content, entity: 0 }, ['succeed slowly'], web);
    await world.advance(100);
    world.service.sendNew({ ...ready, entity: 0 }, [], web);
    await world.advance(30_000);
    await world.findAll();
  },
};

async function leaveBehind(world: World): Promise<void> {
  const web = world.start('web');
  const worker = world.start('created and ready');
  await world.advance(1_000);
  world.service.sendNew({ ...ready, entity: 0 }, ['fail', 'fail'], web);
  await world.advance(100);
  worker.close();
  world.service.sendNew({ ...content, entity: 0, created: 2 }, [], web);
  await world.advance(1_000);
  world.start('created');
}

async function handling(world: World, behaviour: Behaviour, ms: number): Promise<SimulatedProcess> {
  const web = world.start('web');
  const worker = world.start('all');
  world.service.sendNew(content, [behaviour], web);
  await world.advance(ms);
  return worker;
}

async function fillForLong(world: World): Promise<void> {
  await world.fillDisk(20_000);
  await world.advance(5_000);
}

export const hung: DirectedHistory = {
  name: 'the function of a transaction never ends',
  happen: async (world) => void (await handling(world, 'never end the transaction', 1_000)),
};

export const directedHistories = [
  hung,
  burst,
  burstOfAll,
  outage,
  nothingStarted,
  sleep,
  heldBack,
  leftBehind,
  leftBehindAndSetBack,
  deploy,
  killedWhileClosing,
  setBack,
  setBackAndFull,
  fullDisk,
  fullDiskForMany,
  steppedTwice,
  steppedOver,
  takenOver,
  ofAnother,
  vanishedRow,
  lateNumbers,
  besideItsEntity,
  pausedType,
  pausedAndSetBack,
  rated,
  ratedAndSetBack,
  brokenProvider,
  thrownNull,
] as const;
