import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { ACT_NOTES, EXIT_CODES, withActing, type ActOnOptions } from './act-options.ts';

/** `hookbox events retry-now` */
export function retryNowCommand(): Command {
  const made = command('retry-now', 'have events that failed tried again now, not when their backoff is over', [
    'hookbox events retry-now evt_1 evt_2',
    'hookbox events retry-now --error ECONNREFUSED --dry-run',
    'hookbox events retry-now --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events retry-now --all --yes --rate 50 --reason "the warehouse is back"',
    'hookbox events retry-now --resume 7',
  ]);
  return withActing(made, 'retry-now')
    .addHelpText(
      'after',
      `${ACT_NOTES}\nTheir attempts and failures go on being counted: one whose last attempt this is dies if it fails. What waits\n` +
        `behind an older event goes on waiting for it. The handlers run where your processor runs.\n${EXIT_CODES}`,
    )
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('./act-on.ts');
      process.exitCode = await actOn('retry-now', ids, options);
    });
}
