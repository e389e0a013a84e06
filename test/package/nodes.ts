import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { part } from '../helpers/parts.ts';

/** A Node that hookbox runs on; looked up when it is used, so that a missing one fails its own tests only. */
export interface NodeLine {
  readonly name: string;
  readonly executable: () => string;
}

/** Beside this Node, on which all other tests of the package run. */
export const NODES: readonly NodeLine[] = [
  { name: 'Node 22', executable: () => part('node22/bin/node') },
  { name: 'Node 26', executable: () => part('node26/bin/node') },
];

/** The first major version that hookbox runs on. */
const OLDEST = 22;

/** A Node on this machine that is too old for hookbox, if there is one. */
export function oldNode(): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return candidates.filter((file) => existsSync(file)).find((file) => majorOf(file) < OLDEST);
}

function majorOf(node: string): number {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' });
  return Number(/^v(\d+)/.exec(version)?.[1] ?? OLDEST);
}
