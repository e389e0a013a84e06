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
  const made = command('import', 'store the events of an export, or ids that other code has handled', [
    'hookbox events import events.ndjson --dry-run',
    'hookbox events import events.ndjson --db moved.db --trusted',
    'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
    'hookbox events import --handled ids.txt',
  ])
    .argument('<file>', 'the file, or - for standard input')
    .option('--trusted', 'your own export, unchanged: believe also the facts that no body has')
    .option('--handled', 'the file has an event id a line: record each as processed')
    .option('--endpoint <name>', 'with --handled: the endpoint of the ids (default: "default")')
    .option('--dry-run', 'check and count, and change nothing');
  return withInbox(withBy(made))
    .addHelpText(
      'after',
      [
        '',
        'Without --trusted all events are stored as not verified. hookbox reads the',
        'type, time and entity of an event from its body, and takes the newest',
        'processed event of an entity from bodies only. A line that does not fit its',
        'body is an error. Events that are stored here already keep their state, so you',
        'can import twice. A missing --db becomes a new inbox. Pending events run here',
        'from now on: stop the processor of the old inbox first.',
        'Exit codes: 0 all events are here, 3 some are here with another body, 1 the',
        'export is not complete.',
        '',
        'With --handled a later delivery of an id is answered as a duplicate. The command',
        'prints each event that is stored here and not processed, and exits with 3.',
      ].join('\n'),
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
