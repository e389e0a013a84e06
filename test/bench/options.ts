import { parseArgs } from 'node:util';
import { rows, type Row } from './rows.ts';

/** What a run measures and where it puts the result. */
export interface Options {
  readonly rows: readonly Row[];
  readonly connections: readonly number[];
  readonly tables: readonly number[];
  /** Seconds measured per cell and round. */
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** Times each cell is measured; also the empty and full pairs of the third table, and the rounds of the fourth. */
  readonly rounds: number;
  /** How long to wait for a quiet machine, in all. */
  readonly patienceMs: number;
  readonly parseRounds: number;
  /** Events in the full file of the third and the fourth table. */
  readonly stored: number;
  readonly generator: string | undefined;
  readonly json: string | undefined;
  readonly write: boolean;
}

const usage = `node test/bench/run.ts [options]
  --quick               shorter, and less to be trusted
  --rows a,b            only these servers: ${rows.map(({ name }) => name).join(', ')}
  --connections 1,64    only these numbers of connections
  --tables 1,2,…,8      only these tables: requests per second, verify and parse, stored events, stored and handled,
                        starting the command, replaying stored events, operators' questions, pruning under load
  --rounds N            measure each cell N times and take medians
  --stored N            processed events in the full file of the third and the fourth table
  --generator NAME      wrk or autocannon
  --json FILE           also write everything that was measured
  --write               put the tables into docs/benchmarks.md`;

/** Reads the command line; prints the usage and ends the process when it is wrong. */
export function readOptions(args: readonly string[]): Options {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean', default: false },
        rows: { type: 'string', default: rows.map(({ name }) => name).join(',') },
        connections: { type: 'string', default: '1,64,256' },
        tables: { type: 'string', default: '1,2,3,4,5,6,7,8' },
        rounds: { type: 'string' },
        stored: { type: 'string', default: '1000000' },
        generator: { type: 'string' },
        json: { type: 'string' },
        write: { type: 'boolean', default: false },
      },
    });
    const rounds = values.rounds === undefined ? (values.quick ? 1 : 3) : wholeNumber(values.rounds);
    return {
      rows: values.rows.split(',').map(rowNamed),
      connections: values.connections.split(',').map(wholeNumber),
      tables: values.tables.split(',').map(wholeNumber),
      seconds: 2,
      warmUpSeconds: 1,
      rounds,
      patienceMs: values.quick ? 20_000 : 180_000,
      parseRounds: values.quick ? 5 : 15,
      stored: wholeNumber(values.stored),
      generator: values.generator,
      json: values.json,
      write: values.write,
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}\n`);
    process.exit(2);
  }
}

function rowNamed(name: string): Row {
  const row = rows.find((candidate) => candidate.name === name);
  if (!row) throw new Error(`There is no server ${name}.`);
  return row;
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${text} is not a whole number above zero.`);
  return value;
}
