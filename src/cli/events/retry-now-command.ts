import type { Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { actNotes, withActing, type ActOnOptions } from './act-options.ts';

/** `hookbox events retry-now` */
export function retryNowCommand(): Command {
  const made = command('retry-now', 'retry failed events now, without waiting for their backoff to end', [
    'hookbox events retry-now evt_1 evt_2',
    'hookbox events retry-now --error ECONNREFUSED --dry-run',
    'hookbox events retry-now --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events retry-now --all --yes --rate 50 --reason "the warehouse is back"',
    'hookbox events retry-now --resume 7',
  ]);
  return withNotes(
    withActing(made, 'retry-now'),
    actNotes(
      'Attempts and failures still count, so an event becomes dead if its last allowed attempt fails. An event still waits for ' +
        'older events of its entity. Your processor runs the handlers.',
    ),
  ).action(async (ids: string[], options: ActOnOptions) => {
    const { actOn } = await import('./act-on.ts');
    process.exitCode = await actOn('retry-now', ids, options);
  });
}
