import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withBy, withInbox } from './event-options.ts';
import type { ImportCommandOptions } from './import.ts';

/** `hookbox events import` */
export function importCommand(): Command {
  const made = command('import', 'store the events of an export', [
    'hookbox events import events.ndjson --dry-run',
    'hookbox events import events.ndjson --db moved.db --trusted',
    'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
  ])
    .argument('<file>', 'the file, or - for standard input')
    .option('--trusted', 'your own export, which nobody else could change: believe what no body says')
    .option('--dry-run', 'check and count, and change nothing');
  return withInbox(withBy(made))
    .addHelpText(
      'after',
      '\nWithout --trusted all events are stored as not verified, what they are about is read from their bodies, and only\n' +
        'bodies tell which processed event of an order was the newest. A line that does not fit its body is refused.\n' +
        'Events that are here already stay as they are, so importing twice is harmless. A missing --db becomes a new inbox.\n' +
        'Pending events are handled here from now on: stop the processor of the old inbox first.\n' +
        'Exit codes: 0 all events are here now, 3 some are here with other bytes, 1 the export is not complete.',
    )
    .action(async (file: string, options: ImportCommandOptions) => {
      const { importFrom } = await import('./import.ts');
      process.exitCode = await importFrom(file, options);
    });
}
