import { Option, type Command } from 'commander';
import { readableFormats } from '../../ops/words/readable-formats.ts';
import { command } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import { withBy, withFilter } from './event-options.ts';
import type { ExportCommandOptions } from './export.ts';

/** `hookbox events export` */
export function exportCommand(): Command {
  const made = withDb(
    command('export', 'write events as lines of JSON, byte-exact, with their attempts', [
      'hookbox events export > events.ndjson',
      'hookbox events export --state dead --out dead.ndjson',
      'hookbox events export --format csv --state dead --out dead.csv',
      'hookbox events export --since 24h | gzip > today.ndjson.gz',
    ]),
  )
    .addOption(
      new Option(
        '--format <format>',
        'exact is byte-exact and can be imported; csv is for spreadsheets, json for reading',
      )
        .choices(['exact', ...readableFormats])
        .default('exact'),
    )
    .option('--out <file>', 'write to this file, which appears when it is complete')
    .option('--force', 'replace an existing file');
  return withBy(withFilter(made))
    .addHelpText(
      'after',
      '\nWithout a filter it writes all events, pruned ones too. The last line says that it is complete.\n' +
        "Only the exact format can be imported. In csv, text that a spreadsheet would take for a formula has ' before it.",
    )
    .action(async (options: ExportCommandOptions) => {
      const { exportTo } = await import('./export.ts');
      process.exitCode = await exportTo(options);
    });
}
