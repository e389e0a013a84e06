import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Rewrite } from './rewritten-source.ts';
import { DATABASE } from './what-is-stored.ts';

const PROCESS = fileURLToPath(new URL('acknowledging-process.ts', import.meta.url));
const REWRITTEN_SOURCE = new URL('rewritten-source.ts', import.meta.url).href;
const RECORDER = fileURLToPath(new URL('recorder.c', import.meta.url));

const COMPILER = 'cc';

export type Operation = { readonly name: string } & (
  | { readonly kind: 'create' | 'unlink' }
  | { readonly kind: 'write'; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly size: number }
  | { readonly kind: 'sync'; readonly begun: number }
);

/** Without the recorder, the test would prove nothing, so its absence is an error. */
export function compileRecorder(folder: string): string {
  if (process.platform !== 'linux') throw new Error('Only Linux preloads a library like this one.');
  const library = join(folder, 'recorder.so');
  const args = ['-O1', '-Wall', '-shared', '-fPIC', '-o', library, RECORDER, '-lpthread'];
  const { error, status, stderr } = spawnSync(COMPILER, args, { encoding: 'utf8' });
  if (error !== undefined) {
    const message = `${COMPILER} is missing. Install a C compiler (${COMPILER}), for example by apt-get install gcc`;
    throw new Error(message, { cause: error });
  }
  if (status !== 0) throw new Error(`${COMPILER} cannot compile recorder.c: ${stderr}`);
  return library;
}

export function record(recorder: string, parent: string, name: string, rewrites: readonly Rewrite[]) {
  const folder = join(realpathSync(parent), name);
  const log = `${folder}.log`;
  mkdirSync(folder);
  const { status, stderr } = spawnSync(process.execPath, ['--import', REWRITTEN_SOURCE, PROCESS, folder], {
    encoding: 'utf8',
    env: {
      ...process.env,
      LD_PRELOAD: recorder,
      RECORDED_FOLDER: folder,
      RECORDED_LOG: log,
      REWRITES: JSON.stringify(rewrites),
    },
  });
  if (status !== 0) throw new Error(`the recorded process ended with ${String(status)}: ${stderr}`);
  return { operations: operationsOf(readFileSync(log)), database: readFileSync(join(folder, DATABASE)) };
}

const HEADER_BYTES = 24;

function operationsOf(log: Buffer): Operation[] {
  const operations: Operation[] = [];
  for (let at = 0; at < log.length;) {
    const kind = log.readUInt32LE(at);
    const nameEnd = at + HEADER_BYTES + log.readUInt32LE(at + 4);
    const offset = Number(log.readBigUInt64LE(at + 8));
    const end = nameEnd + Number(log.readBigUInt64LE(at + 16));
    const name = log.toString('utf8', at + HEADER_BYTES, nameEnd);
    operations.push(operationOf(kind, name, offset, log.subarray(nameEnd, end)));
    at = end;
  }
  return operations;
}

function operationOf(kind: number, name: string, offset: number, bytes: Buffer): Operation {
  switch (kind) {
    case 1:
      return { kind: 'create', name };
    case 2:
      return { kind: 'write', name, offset, bytes };
    case 3:
      return { kind: 'truncate', name, size: offset };
    case 4:
      return { kind: 'sync', name, begun: offset };
    case 5:
      return { kind: 'unlink', name };
    default:
      throw new Error(`recorder.c wrote a record of kind ${kind}`);
  }
}
