import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withBy, withInbox, type ByOptions, type InboxOptions } from './event-options.ts';

/** What the arguments of `events pause` and `events resume` say. */
export interface PauseOptions extends InboxOptions, ByOptions {
  readonly endpoint: string;
  readonly unseen?: boolean;
}

/** `hookbox events pause` */
export function pauseCommand(): Command {
  const made = command('pause', 'store the events of a type, but do not handle them until you resume the type', [
    'hookbox events pause order.created --reason "the till is down"',
    'hookbox events pause',
  ])
    .argument('[type]', 'the type to pause; without a type, list the paused types')
    .optionsGroup(GROUP.act)
    .option('--unseen', 'pause the type even if the inbox has no event of this type yet');
  return withNotes(withPause(made), {
    notes: [
      'Deliveries still get a 200. Handlers that are already running are not interrupted. Newer events of the same order, cart or product ' +
        'wait behind the paused events.',
    ],
  }).action(async (type: string | undefined, options: PauseOptions) => {
    const { listPauses, pause } = await import('./pause.ts');
    process.exitCode = await (type === undefined ? listPauses(options) : pause(type, options));
  });
}

/** `hookbox events resume` */
export function resumeCommand(): Command {
  const made = command('resume', 'handle the events of a paused type again', [
    'hookbox events resume order.created',
  ]).argument('<type>', 'the type to resume');
  return withPause(made).action(async (type: string, options: PauseOptions) => {
    const { resume } = await import('./pause.ts');
    process.exitCode = await resume(type, options);
  });
}

function withPause(made: Command): Command {
  const paused = made
    .optionsGroup(GROUP.act)
    .option('--endpoint <name>', 'the endpoint that receives events of this type', 'default');
  return withInbox(withBy(paused), 'print JSON');
}
