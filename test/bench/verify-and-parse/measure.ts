// node measure.ts ROUNDS: times each contender and prints one line of JSON.
import { median } from '../median.ts';
import { orderEvent } from '../load/order-event.ts';
import { signedHeaders, type SigningScheme } from '../load/signing-schemes.ts';
import { contenders, type Arrived, type Contender } from './contenders.ts';

// Distinct events, so that nothing is measured that only repetition makes fast.
const EVENTS = 4_000;

const rounds = Number(process.argv[2] ?? 7);

function arrivals(scheme: SigningScheme): Arrived[] {
  return Array.from({ length: EVENTS }, () => {
    const event = orderEvent();
    return { body: Buffer.from(event.body), headers: signedHeaders(scheme, event) };
  });
}

/** Throws unless the contender gives the event for its signature and refuses another's. */
async function prove({ name, run }: Contender, [first, second]: readonly Arrived[]): Promise<void> {
  if (!first || !second) throw new Error('Two events are needed.');
  const event = await run(first);
  if (typeof event !== 'object' || event === null || !('id' in event)) throw new Error(`${name} gave no event.`);
  const refused = await Promise.resolve({ body: first.body, headers: second.headers })
    .then(run)
    .then(
      () => false,
      () => true,
    );
  if (!refused) throw new Error(`${name} accepted a signature of other bytes.`);
}

async function microsecondsEach({ run }: Contender, all: readonly Arrived[]): Promise<number> {
  const startedAt = performance.now();
  for (const arrived of all) {
    const event = run(arrived);
    // Awaited only when there is something to wait for: an await costs more than half a synchronous contender.
    if (event instanceof Promise) await event;
  }
  return ((performance.now() - startedAt) * 1000) / all.length;
}

const field = await Promise.all(
  contenders.map(async (contender) => {
    const all = arrivals(contender.scheme);
    await prove(contender, all);
    return { contender, all, times: [] as number[] };
  }),
);
for (const { contender, all } of field) {
  for (let warmUp = 0; warmUp < 2; warmUp += 1) await microsecondsEach(contender, all);
}
for (let round = 0; round < rounds; round += 1) {
  for (const { contender, all, times } of field) times.push(await microsecondsEach(contender, all));
}
const result = field.map(({ contender: { name, title }, times }) => ({ name, title, microseconds: median(times) }));
process.stdout.write(`${JSON.stringify(result)}\n`);
