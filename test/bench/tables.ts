import { commandStart } from './tables/command-start.ts';
import { events } from './tables/events.ts';
import { handled } from './tables/handled.ts';
import { operators } from './tables/operators.ts';
import { postgres } from './tables/postgres.ts';
import { pruning } from './tables/pruning.ts';
import { replay } from './tables/replay.ts';
import { sandbox } from './tables/sandbox.ts';
import { servers } from './tables/servers.ts';
import { slowDisk } from './tables/slow-disk.ts';
import type { Table } from './table.ts';
import { unrelated } from './tables/unrelated.ts';
import { verifyAndParse } from './tables/verify-and-parse.ts';

/** In the order of docs/benchmarks.md. */
export const tables: readonly Table[] = [
  servers,
  slowDisk,
  unrelated,
  verifyAndParse,
  events,
  handled,
  commandStart,
  replay,
  operators,
  pruning,
  sandbox,
  postgres,
];
