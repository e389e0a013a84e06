// Takes jobs in and runs them: node run-jobs.ts <url> <queue> <jobs in a call> <callers> <jobs to warm up> <jobs>
import { callers } from './callers.ts';
import { queues, type QueueName } from './queues.ts';
import { atOnce } from './start-together.ts';

const [url = '', name, ...numbers] = process.argv.slice(2);
const [together = 1, count = 1, warmUp = 1, jobs = 1] = numbers.map(Number);

/** Without a single one that is run for so long, the rest will not be. */
const STALLED_MS = 30_000;

let wanted = Infinity;
let ran = 0;
let allRan = Promise.withResolvers<void>();
const stalled = setTimeout(() => {
  throw new Error(`${name}: ${ran} of ${wanted} jobs were run, and then none for ${STALLED_MS / 1000} s`);
}, STALLED_MS);
const queue = await queues[name as QueueName](url, (more) => {
  ran += more;
  stalled.refresh();
  if (ran >= wanted) allRan.resolve();
});

/** Seconds until so many are durable, and until all of them have run. */
async function measured(jobs: number): Promise<{ readonly taken: number; readonly done: number }> {
  [ran, wanted, allRan] = [0, jobs, Promise.withResolvers<void>()];
  const from = performance.now();
  let asked = 0;
  await callers(count, async (caller) => {
    if (asked >= jobs) return false;
    asked += together;
    await queue.add(together, caller);
    return true;
  });
  const taken = performance.now() - from;
  await allRan.promise;
  if (ran !== jobs) throw new Error(`${ran} of ${jobs} jobs were run: some twice`);
  return { taken: taken / 1000, done: (performance.now() - from) / 1000 };
}

await measured(warmUp);
await atOnce(async () => {
  const result = await measured(jobs);
  clearTimeout(stalled);
  await queue.close();
  return result;
});
