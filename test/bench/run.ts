// The benchmark: npm run bench -- [options]. It measures, says of each goal how it was met, and fails for no number.
//
//   npm run bench -- --only servers --quick --allow-disturbed     a quick look
//   npm run bench -- --against ../before > results.md             everything, for docs/benchmarks.md: 40 minutes
//   npm run bench -- --ten-million --only events                  ten million events in the file
//
// How it comes to figures that can be trusted:
//
// - tables/       one table of docs/benchmarks.md in each file; tables.ts lists them
// - session.ts    one server in a process of its own: proven to do what it claims, warmed up until its rate is steady, and
//                 then under load. rows.ts lists the servers, servers/ has them
// - rounds.ts     contenders take turns, and what counts is the median of the rounds
// - disturbance/  notices what else runs on the machine. A figure that something disturbed is measured again; if that
//                 does not help, it is not shown, and the exit is 1, unless --allow-disturbed
// - load/         wrk, or autocannon where there is no wrk, sends requests that were signed before
// - against.ts    the same servers with the library of another checkout; loop-delay-probe.ts, sync-delay/: what is
//                 preloaded into a server to measure it, and to slow its disk down
// - goals.ts      the table of goals
import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import type { Bench } from './bench.ts';
import { Disturbance } from './disturbance/disturbance.ts';
import { measureFdatasyncApart } from './fdatasync.ts';
import { FilledFile } from './filled-file/filled-file.ts';
import { goalsTable } from './goals.ts';
import { findGenerator } from './load/generator.ts';
import { RequestPools } from './load/request-pool.ts';
import { describeMachine, machineText } from './machine.ts';
import { readOptions } from './options.ts';
import { scratchFolder } from './scratch-folder.ts';
import { makeSyncDelay } from './sync-delay/sync-delay.ts';
import { tables } from './tables.ts';

const options = readOptions(process.argv.slice(2), tables);
const folder = scratchFolder();
const progress = (line: string): void => void process.stderr.write(`${line}\n`);
const disturbance = new Disturbance(options.patienceMs, progress);
const bench: Bench = {
  options,
  generator: findGenerator(options.generator),
  disturbance,
  pools: new RequestPools(folder),
  folder,
  progress,
  syncDelay: options.syncDelayMs === 0 ? 'it was not asked for' : await makeSyncDelay(options.syncDelayMs, folder),
  filled: new FilledFile(folder, options.events, progress),
};

const machine = describeMachine(bench.generator, await disturbance.freeCores(availableParallelism()));
const fdatasync = await disturbance.alone(() => measureFdatasyncApart(folder));
const sections = [];
for (const { name, section = 'bench', measure } of tables) {
  if (options.only.length > 0 && !options.only.includes(name)) continue;
  progress(`# ${name}`);
  try {
    sections.push({ name, section, ...(await measure(bench)) });
  } catch (error) {
    // The other tables have taken half an hour.
    progress(`${name} failed: ${error instanceof Error ? error.stack : String(error)}`);
    process.exitCode = 1;
  }
}

/** Each part of the page says where it was measured, and how its goals were met. */
const pages = [...Map.groupBy(sections, ({ section }) => section)].map(([name, parts]) => ({
  name,
  text: [
    machineText(machine, fdatasync.value, disturbance),
    ...parts.map((section) => section.text),
    goalsTable(parts.flatMap((section) => section.goals)),
  ].join('\n\n'),
}));

const goals = sections.flatMap((section) => section.goals);
process.stdout.write(`${pages.map(({ text }) => text).join('\n\n')}\n`);
if (options.json !== undefined) {
  await writeFile(options.json, `${JSON.stringify({ machine, fdatasync, options, sections, goals }, null, 2)}\n`);
}
if (sections.some(({ disturbed }) => disturbed) && !options.allowDisturbed) {
  progress('Something else ran on this machine, so not everything is shown (--allow-disturbed shows it, marked).');
  process.exitCode = 1;
}
