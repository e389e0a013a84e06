import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { discardCommand } from './discard-command.ts';
import { backupCommand, eraseCommand, exportCommand, importCommand, pruneCommand } from './keep-commands.ts';
import { listCommand, showCommand, tailCommand } from './look-commands.ts';
import { auditCommand, bulksCommand, rejectedCommand, statsCommand } from './report-commands.ts';
import { rerunCommand } from './rerun-command.ts';

/** `hookbox events`: what an operator does with stored events. */
export function eventsCommand(): Command {
  return command('events', 'find, understand and rerun stored events', [
    'hookbox events list --state dead --since 24h',
    'hookbox events show evt_3PqT8mXkRz4VwYb2',
    'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events help rerun',
  ])
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(tailCommand())
    .addCommand(rerunCommand())
    .addCommand(discardCommand())
    .addCommand(pruneCommand())
    .addCommand(eraseCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand())
    .addCommand(statsCommand())
    .addCommand(rejectedCommand())
    .addCommand(backupCommand())
    .addCommand(bulksCommand())
    .addCommand(auditCommand());
}
