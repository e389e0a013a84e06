import { Option, type Command } from 'commander';
import { readableFormats } from '../../ops/export.ts';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import { withBy, withFilter } from './event-options.ts';
import type { ExportCommandOptions } from './export.ts';

/** `hookbox events export` */
export function exportCommand(): Command {
  const made = command(
    'export',
    'export events with their bodies and attempts, by default one line of JSON per event',
    [
      'hookbox events export > events.ndjson',
      'hookbox events export --state dead --out dead.ndjson',
      'hookbox events export --format csv --state dead --out dead.csv',
      'hookbox events export --since 24h | gzip > today.ndjson.gz',
    ],
  )
    .optionsGroup(GROUP.output)
    .option('--out <file>', 'write to this file, which appears only when the export is complete')
    .addOption(
      new Option(
        '--format <format>',
        'exact keeps every byte and can be imported; csv and json are for people and other programs',
      )
        .choices(['exact', ...readableFormats])
        .default('exact'),
    )
    .option('--force', 'replace an existing file');
  return withNotes(withDb(withBy(withFilter(made))), {
    notes: [
      'Without a filter, this writes all events, including pruned ones. The last line of an exact export confirms that the export is complete.',
      "Only the exact format can be imported. In csv, a single quote (') precedes text that a spreadsheet would run as a formula.",
    ],
  }).action(async (options: ExportCommandOptions) => {
    const { exportTo } = await import('./export.ts');
    process.exitCode = await exportTo(options);
  });
}
