import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { collected } from '../shared/option-values.ts';
import { withInbox } from './event-options.ts';
import type { ShowOptions } from './show.ts';

/** `hookbox events show` */
export function showCommand(): Command {
  const show = command('show', 'show the deliveries, attempts, errors and body of an event', [
    'hookbox events show evt_3PqT8mXkRz4VwYb2',
    'hookbox events show evt_3PqT8mXkRz4VwYb2 --mask data.customer.email --mask data.items[].name',
    'hookbox events show evt_3PqT8mXkRz4VwYb2 --raw | sha256sum',
    "hookbox events show evt_3PqT8mXkRz4VwYb2 --json | jq '.timeline[].attempt.error.stack'",
    'hookbox events show evt_…wYb2',
  ])
    .argument('<event-id>', 'the id of the event, or its last characters (such as wYb2) if no other id ends with them')
    .optionsGroup(GROUP.output)
    .option('--mask <path>', 'hide this field of the body (repeatable)', collected)
    .option('--raw', 'print only the stored body, byte for byte')
    .option(
      '--endpoint <name>',
      'the endpoint that received the event; needed if several endpoints have an event with this id',
    );
  return withNotes(withInbox(show), {
    notes: [
      'The body is shown with its original numbers, escapes and field order. --mask does not hide error messages.',
    ],
  }).action(async (id: string, options: ShowOptions) => {
    const { show } = await import('./show.ts');
    process.exitCode = await show(id, options);
  });
}
