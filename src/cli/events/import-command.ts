import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withBy, withInbox } from './event-options.ts';
import { usageError } from '../shared/exit.ts';
import type { ImportHandledCommandOptions } from './import-handled.ts';
import type { ImportCommandOptions } from './import.ts';

interface HandledOption {
  readonly handled?: boolean;
}

/** `hookbox events import` */
export function importCommand(): Command {
  const made = command('import', 'store the events of an export, or the ids that other code has handled', [
    'hookbox events import events.ndjson --dry-run',
    'hookbox events import events.ndjson --db moved.db --trusted',
    'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
    'hookbox events import --handled ids.txt',
  ])
    .argument('<file>', 'the file, or - for standard input')
    .option('--trusted', 'your own export, which nobody else could change: believe what no body says')
    .option('--handled', 'the file has one event id a line: record each as processed, so its handler never runs')
    .option('--endpoint <name>', 'with --handled: the endpoint that received them (default: "default")')
    .option('--dry-run', 'check and count, and change nothing');
  return withInbox(withBy(made))
    .addHelpText(
      'after',
      '\nWithout --trusted all events are stored as not verified, what they are about is read from their bodies, and only\n' +
        'bodies tell which processed event of an order was the newest. A line that does not fit its body is refused.\n' +
        'Events that are here already stay as they are, so importing twice is harmless. A missing --db becomes a new inbox.\n' +
        'Pending events are handled here from now on: stop the processor of the old inbox first.\n' +
        'Exit codes: 0 all events are here now, 3 some are here with other bytes, 1 the export is not complete.\n\n' +
        'With --handled a later delivery of an id is answered as a duplicate. An event that is stored already keeps its\n' +
        'state. The command prints the ids of events that are not processed, and then exits with 3.',
    )
    .action(async (file: string, options: ImportCommandOptions & ImportHandledCommandOptions & HandledOption) => {
      if (options.handled === true) {
        if (options.trusted === true) throw usageError('--trusted is for an export. Leave it out with --handled.');
        const { importHandledFrom } = await import('./import-handled.ts');
        process.exitCode = await importHandledFrom(file, options);
        return;
      }
      if (options.endpoint !== undefined)
        throw usageError('--endpoint needs --handled. An export names its endpoints.');
      const { importFrom } = await import('./import.ts');
      process.exitCode = await importFrom(file, options);
    });
}
