import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withBy, withInbox, type ByOptions, type InboxOptions } from './event-options.ts';

/** What the arguments of `events pause` and `events resume` say. */
export interface PauseOptions extends InboxOptions, ByOptions {
  readonly endpoint: string;
  readonly unseen?: boolean;
}

/** `hookbox events pause` */
export function pauseCommand(): Command {
  const made = command('pause', 'store the events of a type, and have nobody handle them until it is resumed', [
    'hookbox events pause order.created --reason "the till is down"',
    'hookbox events pause',
  ])
    .argument('[type]', 'the type to pause; without one, list what is paused')
    .option('--unseen', 'also a type that nobody has seen yet');
  return withPause(made)
    .addHelpText(
      'after',
      '\nDeliveries are answered 200 as before. Handlers that run already end as they do. Newer events about the same order,\n' +
        'cart or product wait behind what is paused.',
    )
    .action(async (type: string | undefined, options: PauseOptions) => {
      const { listPauses, pause } = await import('./pause.ts');
      process.exitCode = await (type === undefined ? listPauses(options) : pause(type, options));
    });
}

/** `hookbox events resume` */
export function resumeCommand(): Command {
  const made = command('resume', 'have the events of a paused type handled again', [
    'hookbox events resume order.created',
  ]).argument('<type>', 'the type to resume');
  return withPause(made).action(async (type: string, options: PauseOptions) => {
    const { resume } = await import('./pause.ts');
    process.exitCode = await resume(type, options);
  });
}

function withPause(made: Command): Command {
  const paused = made.option('--endpoint <name>', 'of this endpoint', 'default');
  return withInbox(withBy(paused), 'print JSON');
}
