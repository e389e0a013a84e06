import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withNewest, type NewestOptions } from './event-options.ts';

/** `hookbox events bulks` */
export function bulksCommand(): Command {
  const made = command('bulks', 'list reruns and discards of many events, newest first', [
    'hookbox events bulks',
    'hookbox events bulks --json | jq \'select(.state == "running").id\'',
  ]);
  return withNewest(made).action(async (options: NewestOptions) => {
    const { bulks } = await import('./print-bulks.ts');
    process.exitCode = await bulks(options);
  });
}
