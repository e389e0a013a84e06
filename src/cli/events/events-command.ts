import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { auditCommand } from './audit-command.ts';
import { backupCommand } from './backup-command.ts';
import { bulksCommand } from './bulks-command.ts';
import { discardCommand } from './discard-command.ts';
import { eraseCommand } from './erase-command.ts';
import { exportCommand } from './export-command.ts';
import { findCommand } from './find-command.ts';
import { retryNowCommand } from './retry-now-command.ts';
import { importCommand } from './import-command.ts';
import { listCommand } from './list-command.ts';
import { pauseCommand, resumeCommand } from './pause-command.ts';
import { pruneCommand } from './prune-command.ts';
import { rejectedCommand } from './rejected-command.ts';
import { rerunCommand } from './rerun-command.ts';
import { showCommand } from './show-command.ts';
import { statsCommand } from './stats-command.ts';
import { tailCommand } from './tail-command.ts';

/** `hookbox events`: what an operator does with stored events. */
export function eventsCommand(): Command {
  return command('events', 'find, understand and rerun stored events', [
    'hookbox events list --state dead --since 24h',
    'hookbox events find ord_42',
    'hookbox events show evt_3PqT8mXkRz4VwYb2',
    'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events help rerun',
  ])
    .addCommand(listCommand())
    .addCommand(findCommand())
    .addCommand(showCommand())
    .addCommand(tailCommand())
    .addCommand(rerunCommand())
    .addCommand(retryNowCommand())
    .addCommand(discardCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
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
