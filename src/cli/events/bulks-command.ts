import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withNewest, type NewestOptions } from './event-options.ts';

/** `hookbox events bulks` */
export function bulksCommand(): Command {
  const made = command('bulks', 'list bulk actions, newest first, or show the result of one action', [
    'hookbox events bulks',
    'hookbox events bulks 7',
    'hookbox events bulks --json | jq \'select(.state == "running").id\'',
  ]);
  made.argument('[bulk-id]', 'show the result of this bulk action', wholeNumber(1));
  return withNewest(made).action(async (id: number | undefined, options: NewestOptions) => {
    if (id === undefined) {
      const { bulks } = await import('./print-bulks.ts');
      process.exitCode = await bulks(options);
    } else {
      const { showBulk } = await import('./show-bulk.ts');
      process.exitCode = await showBulk(id, options);
    }
  });
}
