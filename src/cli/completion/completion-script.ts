import type { Command } from 'commander';
import { bashScript } from './bash-script.ts';
import { placesOf, type Place } from './completion-tree.ts';
import { fishScript } from './fish-script.ts';
import { zshScript } from './zsh-script.ts';

const SCRIPTS = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
} as const satisfies Readonly<Record<string, (places: readonly Place[]) => readonly string[]>>;

/** What a shell is to read so that it completes the commands of a program; it starts no process of hookbox for that. */
export function scriptFor(shell: keyof typeof SCRIPTS, program: Command): readonly string[] {
  return SCRIPTS[shell](placesOf(program));
}
