// The benchmark: npm run bench -- [--quick] [--json FILE] [--write]. It measures, tells, and fails for no number.
import { writeFile } from 'node:fs/promises';
import { measureCommandStart } from './command-start.ts';
import { measureFdatasync } from './fdatasync.ts';
import { FilledFile } from './filled-file.ts';
import { measureHandledEvents } from './handled-events.ts';
import { findGenerator } from './load/generator.ts';
import { describeMachine } from './machine.ts';
import { writeMarkedSection } from './marked-section.ts';
import { readOptions } from './options.ts';
import { measureOperators } from './operators/answering.ts';
import { measurePruning } from './operators/pruning.ts';
import { Patience } from './patience.ts';
import { report, type Run } from './report.ts';
import { measureReplay } from './replay.ts';
import { RequestPools } from './request-pool.ts';
import { scratchFolder } from './scratch-folder.ts';
import { measureStoredEvents } from './stored-events.ts';
import { measureThroughput } from './throughput.ts';
import { goalConnections, verdicts } from './verdicts.ts';
import { measureVerifyAndParse } from './verify-and-parse.ts';

const options = readOptions(process.argv.slice(2));
const generator = findGenerator(options.generator);
const folder = scratchFolder();
const { seconds, warmUpSeconds, rounds } = options;
const patience = new Patience(options.patienceMs);
const settings = { generator, folder, seconds, warmUpSeconds, patience, pools: new RequestPools(folder) };
const progress = (line: string): void => void process.stderr.write(`${line}\n`);
const filled = new FilledFile(folder, options.stored, progress);
const wants = (table: number): boolean => options.tables.includes(table);

await patience.waitForQuiet();
const fdatasync = measureFdatasync(folder);
const throughput = wants(1)
  ? await measureThroughput(options.rows, options.connections, rounds, settings, progress)
  : [];
await patience.waitForQuiet();
const verifyAndParse = wants(2) ? await measureVerifyAndParse(options.parseRounds) : [];
const storedEvents = wants(3)
  ? await measureStoredEvents(filled, goalConnections, Math.max(2, rounds), settings, progress)
  : null;
const handledEvents = wants(4) ? await measureHandledEvents(filled, goalConnections, rounds, settings, progress) : null;

await patience.waitForQuiet();
const commandStart = wants(5) ? measureCommandStart(options.parseRounds) : [];
const replay = wants(6) ? await measureReplay(folder, progress) : [];
await patience.waitForQuiet();
const operators = wants(7) ? await measureOperators(folder, options.parseRounds, progress) : null;
const pruning = wants(8) ? await measurePruning(filled, goalConnections, rounds, settings, progress) : null;

const run: Run = {
  machine: describeMachine(generator),
  settings: { seconds, warmUpSeconds, rounds },
  fdatasync,
  throughput,
  verifyAndParse,
  storedEvents,
  handledEvents,
  commandStart,
  replay,
  operators,
  pruning,
};
const text = report(run);
process.stdout.write(`${text}\n`);
if (options.json !== undefined) {
  await writeFile(options.json, `${JSON.stringify({ ...run, verdicts: verdicts(run) }, null, 2)}\n`);
}
if (options.write) await writeMarkedSection(new URL('../../docs/benchmarks.md', import.meta.url), text);
