import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withNewest, type NewestOptions } from './event-options.ts';

/** `hookbox events audit` */
export function auditCommand(): Command {
  const made = command('audit', 'list what operators did, newest first', [
    'hookbox events audit',
    "hookbox events audit --json | jq -r '[.at, .actor, .act] | @tsv'",
  ]);
  return withNewest(made).action(async (options: NewestOptions) => {
    const { audit } = await import('./print-audit.ts');
    process.exitCode = await audit(options);
  });
}
