import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withBy, withInbox } from './event-options.ts';
import type { ImportCommandOptions } from './import.ts';

/** `hookbox events import` */
export function importCommand(): Command {
  const made = command('import', 'store the events of an export', [
    'hookbox events import events.ndjson --dry-run',
    'hookbox events import events.ndjson --db moved.db --trusted',
    'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
  ])
    .argument('<file>', 'the export, or - for standard input')
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'check and count the events; change nothing')
    .option('--trusted', 'also believe facts that the bodies do not prove; only for your own, unchanged export');
  return withNotes(withInbox(withBy(made)), {
    notes: [
      'Without --trusted, hookbox stores every event as not verified, reads its entity from the body, and takes the newest ' +
        'processed event of an order from the bodies alone. It rejects a line that does not match its body.',
      'Events that are already here do not change, so you can import twice. If --db does not exist, hookbox creates it. ' +
        'A processor of this inbox handles the pending events: stop the processor of the old inbox first.',
    ],
    exitCodes: {
      0: 'all events are here now',
      1: 'the export is not complete',
      3: 'some events are here with another body',
    },
  }).action(async (file: string, options: ImportCommandOptions) => {
    const { importFrom } = await import('./import.ts');
    process.exitCode = await importFrom(file, options);
  });
}
