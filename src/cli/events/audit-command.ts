import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withNewest } from './event-options.ts';
import type { AuditOptions } from './print-audit.ts';

/** `hookbox events audit` */
export function auditCommand(): Command {
  const made = command('audit', 'list what operators did, newest first', [
    'hookbox events audit',
    'hookbox events audit --actor ada --since 2026-01-30 --until 2026-01-31',
    "hookbox events audit --json | jq -r '[.at, .actor, .act] | @tsv'",
  ]);
  const filtered = made
    .option('--actor <name>', 'what one did, by the name that stands in the audit')
    .option('--since <time>', 'done then or later: an age such as 2h, or an ISO date (UTC)')
    .option('--until <time>', 'done before then');
  return withNewest(filtered).action(async (options: AuditOptions) => {
    const { audit } = await import('./print-audit.ts');
    process.exitCode = await audit(options);
  });
}
