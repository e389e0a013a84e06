import { parseArgs } from 'node:util';
import { builtCheckout } from './against.ts';

/** What a run measures and where it puts the result. */
export interface Options {
  /** only these tables; all where it is empty */
  readonly only: readonly string[];
  /** only these servers; all where it is empty */
  readonly rows: readonly string[];
  readonly connections: readonly number[];
  /** of each load */
  readonly seconds: number;
  /** the least and the most of a warm-up */
  readonly warmUpSeconds: number;
  readonly warmUpLimit: number;
  readonly rounds: number;
  /** how long to wait for a quiet machine and to measure again, in all */
  readonly patienceMs: number;
  readonly allowDisturbed: boolean;
  /** rounds of what takes milliseconds */
  readonly quickRounds: number;
  /** events in the full file */
  readonly events: number;
  readonly tenMillion: boolean;
  /** 0: no slower disk */
  readonly syncDelayMs: number;
  /** the folder of another checkout */
  readonly against: string | undefined;
  readonly generator: string | undefined;
  readonly json: string | undefined;
}

/** What is to be known of a table to choose it. */
interface NamedTable {
  readonly name: string;
  /** what is written together */
  readonly section?: string;
}

const usage = (tables: readonly string[]): string => `npm run bench -- [options]
  --only a,b            only these tables: ${tables.join(', ')}
  --rows a,b            only these servers in the table of servers (rows.ts)
  --connections 64,1    numbers of connections for the table of servers; all but 64 are measured once
  --quick               shorter loads, one round: only to see that it runs
  --seconds N           of each load (5)
  --rounds N            how often everything is measured (3)
  --patience N          seconds to wait, in all, for a machine that is not quiet (180)
  --allow-disturbed     show rows that something else disturbed, marked; without it they are not shown, and the exit is 1
  --against FOLDER      compare with another checkout, which has to be built: "the commit before"
  --sync-delay N        milliseconds that each sync of the slow disk takes more (5; 0 leaves it out)
  --events N            events in the full file (1000000)
  --ten-million         also measure with 10,000,000 events in the file: 12 GB of disk and ten minutes more
  --generator NAME      wrk or autocannon
  --json FILE           also write everything that was measured`;

/** Reads the command line; prints the usage and ends the process when it is wrong. */
export function readOptions(args: readonly string[], tables: readonly NamedTable[]): Options {
  const all = tables.map(({ name }) => name);
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', default: '' },
        rows: { type: 'string', default: '' },
        connections: { type: 'string', default: '64,1,256' },
        quick: { type: 'boolean', default: false },
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        patience: { type: 'string', default: '180' },
        'allow-disturbed': { type: 'boolean', default: false },
        against: { type: 'string' },
        'sync-delay': { type: 'string', default: '5' },
        events: { type: 'string', default: '1000000' },
        'ten-million': { type: 'boolean', default: false },
        generator: { type: 'string' },
        json: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(`${usage(all)}\n`);
      process.exit(0);
    }
    const only = names(values.only);
    for (const name of only) if (!all.includes(name)) throw new Error(`There is no table ${name}.`);
    const number = (given: string | undefined, quick: number, usual: number): number =>
      given === undefined ? (values.quick ? quick : usual) : wholeNumber(given);
    return {
      only,
      rows: names(values.rows),
      connections: names(values.connections).map((count) => wholeNumber(count)),
      seconds: number(values.seconds, 2, 5),
      warmUpSeconds: values.quick ? 1 : 3,
      warmUpLimit: values.quick ? 2 : 8,
      rounds: number(values.rounds, 1, 3),
      patienceMs: wholeNumber(values.patience, 0) * 1000,
      allowDisturbed: values['allow-disturbed'],
      quickRounds: values.quick ? 5 : 15,
      events: wholeNumber(values.events),
      tenMillion: values['ten-million'],
      syncDelayMs: wholeNumber(values['sync-delay'], 0),
      against: values.against === undefined ? undefined : builtCheckout(values.against),
      generator: values.generator,
      json: values.json,
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage(all)}\n`);
    process.exit(2);
  }
}

function names(list: string): string[] {
  return list.split(',').filter((name) => name !== '');
}

function wholeNumber(text: string, least = 1): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least) throw new Error(`${text} is not a whole number of at least ${least}.`);
  return value;
}
