import type { Command } from 'commander';
import { prunableStates } from '../../inbox/operator/removal.ts';
import { command } from '../shared/command.ts';
import type { EraseOptions } from './erase.ts';
import type { ExportCommandOptions } from './export.ts';
import type { ImportCommandOptions } from './import.ts';
import { DB, withBy, withFilter, withInbox, type ByOptions, type InboxOptions } from './event-options.ts';
import type { PruneCommandOptions } from './prune.ts';
import { collected, collectedFrom } from '../shared/option-values.ts';

/** `hookbox events prune` */
export function pruneCommand(): Command {
  const prune = command('prune', 'remove the bodies of old events; their ids stay known', [
    'hookbox events prune --older-than 30d --dry-run',
    'hookbox events prune --older-than 90d --state processed --state dead --yes',
  ])
    .requiredOption('--older-than <age>', 'events that ended longer ago than this (30d), or before an ISO date (UTC)')
    .option(
      '--state <state>',
      `events in this state (${prunableStates.join(', ')}); processed alone unless given; may be repeated`,
      collectedFrom(prunableStates),
    )
    .option('--type <type>', 'events of this type; may be repeated', collected)
    .option('--endpoint <name>', 'received at this endpoint; at any unless given')
    .option('--dry-run', 'count them, and change nothing')
    .option('--yes', 'do not ask');
  return withInbox(withBy(prune))
    .addHelpText(
      'after',
      '\nA pruned event cannot be rerun, and is exported without its body. When it is sent again, it is a duplicate.\n' +
        'Deliveries go on meanwhile. The file keeps its size and uses the room again.',
    )
    .action(async (options: PruneCommandOptions) => {
      const { prune } = await import('./prune.ts');
      process.exitCode = await prune(options);
    });
}

/** `hookbox events erase` */
export function eraseCommand(): Command {
  const erase = command('erase', 'remove everything stored about an order, a cart or a product', [
    'hookbox events erase ord_42 --dry-run',
    'hookbox events erase order:mer_7:ord_42 --yes --reason "request of 3 May"',
  ])
    .argument('<entity>', 'its name as events list shows it, or the id in it')
    .option('--dry-run', 'count the events, and change nothing')
    .option('--yes', 'do not ask');
  return withInbox(withBy(erase))
    .addHelpText(
      'after',
      '\nBodies, other bodies, errors and the name go, in whatever state the events are; pending ones are not handled any\n' +
        'more. The audit keeps a hash of the name. Backups and exports are yours to look after.\n' +
        'Exit codes: 0 all, 3 events in processing are left, 4 there are no such events.',
    )
    .action(async (entity: string, options: EraseOptions) => {
      const { erase } = await import('./erase.ts');
      process.exitCode = await erase(entity, options);
    });
}

/** `hookbox events export` */
export function exportCommand(): Command {
  const made = command('export', 'write events as lines of JSON, byte-exact, with their attempts', [
    'hookbox events export > events.ndjson',
    'hookbox events export --state dead --out dead.ndjson',
    'hookbox events export --since 24h | gzip > today.ndjson.gz',
  ])
    .option('--db <file>', DB, 'hookbox.db')
    .option('--out <file>', 'write to this file, which appears when it is complete')
    .option('--force', 'replace an existing file');
  return withBy(withFilter(made))
    .addHelpText(
      'after',
      '\nWithout a filter it writes all events, pruned ones too. The last line says that it is complete.',
    )
    .action(async (options: ExportCommandOptions) => {
      const { exportTo } = await import('./export.ts');
      process.exitCode = await exportTo(options);
    });
}

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

/** `hookbox events backup` */
export function backupCommand(): Command {
  const made = command('backup', 'copy the inbox into a new file while it is in use', [
    'hookbox events backup /backups/hookbox-$(date +%F).db',
  ]).argument('<file>', 'the new file');
  return withInbox(withBy(made))
    .addHelpText('after', '\nThe copy is complete as of one moment, and can be used as an inbox.')
    .action(async (file: string, options: InboxOptions & ByOptions) => {
      const { backUp } = await import('./backup.ts');
      process.exitCode = await backUp(file, options);
    });
}
