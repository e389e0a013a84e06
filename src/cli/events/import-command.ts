import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withBy, withInbox } from './event-options.ts';
import { usageError } from '../shared/exit.ts';
import type { ImportHandledCommandOptions } from './import-handled.ts';
import type { ImportCommandOptions } from './import.ts';

interface HandledOption {
  readonly handled?: boolean;
}

/** `hookbox events import` */
export function importCommand(): Command {
  const made = command('import', 'store the events of an export, or the ids of events that other code handled', [
    'hookbox events import events.ndjson --dry-run',
    'hookbox events import events.ndjson --db moved.db --trusted',
    'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
    'hookbox events import --handled ids.txt',
  ])
    .argument('<file>', 'the file that contains the export or the ids, or - for standard input')
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'check and count the events; change nothing')
    .option(
      '--trusted',
      'also trust the facts in the export that the bodies do not prove; use this only for your own, unchanged export',
    )
    .option('--handled', 'read a file with one event id per line, and record each event as processed')
    .option('--endpoint <name>', 'with --handled: the endpoint of the ids (default: "default")');
  return withNotes(withInbox(withBy(made)), {
    notes: [
      'Without --trusted, hookbox stores every event as not verified, reads its entity from the body, and uses only ' +
        'the bodies to find the newest processed event of each entity. It rejects a line whose facts contradict its body.',
      'Events that are already in this inbox do not change, so you can repeat an import. If the inbox does not exist, hookbox creates it. The processor of this inbox handles the imported pending events, so first stop the processor of the old inbox.',
      'With --handled, hookbox treats a later delivery with one of these ids as a duplicate. If an event is already stored ' +
        'but not processed, the command prints its id and exits with 3.',
    ],
    exitCodes: {
      0: 'all events are in the inbox',
      1: 'the export is not complete',
      3: 'some events in the inbox have a different body, or are not processed',
    },
  }).action(async (file: string, options: ImportCommandOptions & ImportHandledCommandOptions & HandledOption) => {
    if (options.handled === true) {
      if (options.trusted === true)
        throw usageError('--trusted works only for an export. Remove --trusted or --handled.');
      const { importHandledFrom } = await import('./import-handled.ts');
      process.exitCode = await importHandledFrom(file, options);
      return;
    }
    if (options.endpoint !== undefined)
      throw usageError('--endpoint works only with --handled. An export already names its endpoints.');
    const { importFrom } = await import('./import.ts');
    process.exitCode = await importFrom(file, options);
  });
}
