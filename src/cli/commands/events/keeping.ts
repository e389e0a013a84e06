import type { Command } from 'commander';
import { prunableStates } from '../../../inbox/operations/removal.ts';
import { command } from '../../command.ts';
import type { EraseOptions } from '../../events/erase.ts';
import type { ExportCommandOptions } from '../../events/export.ts';
import type { ImportCommandOptions } from '../../events/import.ts';
import { DB, withBy, withFilter, withInbox, type ByOptions, type InboxOptions } from '../../events/options.ts';
import type { PruneCommandOptions } from '../../events/prune.ts';
import { collected, collectedFrom } from '../../option-values.ts';

/** `hookbox events prune` */
export function pruneCommand(): Command {
  const prune = command('prune', 'take the bodies of old events away; their ids stay known', [
    'hookbox events prune --older-than 30d --dry-run',
    'hookbox events prune --older-than 90d --state processed --state dead --yes',
  ])
    .requiredOption('--older-than <age>', 'events that were settled longer ago than 30d, or before an ISO date (UTC)')
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
      '\nWhat is pruned can neither be rerun nor exported with its body, and is still known as a duplicate when it is sent\n' +
        'again. Deliveries go on meanwhile. The file keeps its size and fills the room again.',
    )
    .action(async (options: PruneCommandOptions) => {
      const { prune } = await import('../../events/prune.ts');
      process.exitCode = await prune(options);
    });
}

/** `hookbox events erase` */
export function eraseCommand(): Command {
  const erase = command('erase', 'remove everything that is kept about an order, a cart or a product', [
    'hookbox events erase ord_42 --dry-run',
    'hookbox events erase order:mer_7:ord_42 --yes --reason "request of 3 May"',
  ])
    .argument('<entity>', 'its name as events list has it, or the id in it')
    .option('--dry-run', 'count the events, and change nothing')
    .option('--yes', 'do not ask');
  return withInbox(withBy(erase))
    .addHelpText(
      'after',
      '\nBodies, other bodies and errors go, whatever state their events are in, and so does the name; pending events are\n' +
        'not handled any more. The audit names the entity by a hash only. Backups and exports are yours to look after.\n' +
        'Exit codes: 0 all of it, 3 events in processing are left, 4 nothing is about it.',
    )
    .action(async (entity: string, options: EraseOptions) => {
      const { erase } = await import('../../events/erase.ts');
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
    .option('--out <file>', 'write to this file, which is there only when it is complete')
    .option('--force', 'write over the file that is there');
  return withBy(withFilter(made))
    .addHelpText(
      'after',
      '\nWithout a filter all events are written, pruned ones too. The last line says that it is complete.',
    )
    .action(async (options: ExportCommandOptions) => {
      const { exportTo } = await import('../../events/export.ts');
      process.exitCode = await exportTo(options);
    });
}

/** `hookbox events import` */
export function importCommand(): Command {
  const made = command('import', 'take in what an export has written', [
    'hookbox events import events.ndjson --dry-run',
    'hookbox events import events.ndjson --db moved.db --trusted',
    'gunzip -c today.ndjson.gz | hookbox events import - --db new.db',
  ])
    .argument('<file>', 'the file, or - for standard input')
    .option('--trusted', 'it is an export of your own, which nobody else could change: believe what no body says')
    .option('--dry-run', 'check it and count, and change nothing');
  return withInbox(withBy(made))
    .addHelpText(
      'after',
      '\nWithout --trusted all events come in as not verified, what they are about is read from their bodies, and only\n' +
        'bodies tell which was the newest of an order that was processed. A line that does not fit its body is refused.\n' +
        'Events that are here already stay as they are, so importing twice is harmless. A file that is not there becomes a\n' +
        'new inbox. Events that are pending in the export are handled from here on: stop the processor there first.\n' +
        'Exit codes: 0 all of it is here now, 3 some events are here with other bytes, 1 it is no complete export.',
    )
    .action(async (file: string, options: ImportCommandOptions) => {
      const { importFrom } = await import('../../events/import.ts');
      process.exitCode = await importFrom(file, options);
    });
}

/** `hookbox events backup` */
export function backupCommand(): Command {
  const made = command('backup', 'copy the inbox into a new file while it is in use', [
    'hookbox events backup /backups/hookbox-$(date +%F).db',
  ]).argument('<file>', 'the new file');
  return withInbox(withBy(made))
    .addHelpText('after', '\nThe copy is complete as of one moment, and is an inbox like the first.')
    .action(async (file: string, options: InboxOptions & ByOptions) => {
      const { backUp } = await import('../../events/backup.ts');
      process.exitCode = await backUp(file, options);
    });
}
