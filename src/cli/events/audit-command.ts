import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withNewest } from './event-options.ts';
import type { AuditOptions } from './print-audit.ts';

/** `hookbox events audit` */
export function auditCommand(): Command {
  const made = command('audit', 'list the actions of operators, newest first', [
    'hookbox events audit',
    'hookbox events audit --actor ada --since 2026-01-30 --until 2026-01-31',
    "hookbox events audit --json | jq -r '[.at, .actor, .act] | @tsv'",
  ]);
  const filtered = made
    .optionsGroup('Which entries:')
    .option('--actor <name>', 'entries by this operator, as named in the audit')
    .option('--since <time>', 'entries from this time on: an age (2h) or an ISO date (UTC)')
    .option('--until <time>', 'entries from before this time');
  return withNewest(filtered).action(async (options: AuditOptions) => {
    const { audit } = await import('./print-audit.ts');
    process.exitCode = await audit(options);
  });
}
