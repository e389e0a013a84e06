import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import { EXIT } from '../shared/exit.ts';
import { collected, wholeNumber } from '../shared/option-values.ts';
import type { UiOptions } from './serve-page.ts';

/** `hookbox ui` */
export function uiCommand(): Command {
  const made = command('ui', 'serve the operators’ page', [
    'hookbox ui',
    'hookbox ui --db shop.db --read-only --mask data.customer.email',
    'HOOKBOX_UI_USER=ada hookbox ui --host 0.0.0.0 --password-file /run/secrets/hookbox-ui',
  ])
    .optionsGroup(GROUP.server)
    .option('--port <n>', 'listen on this port; 0 selects a free port', wholeNumber(0, 65_535), 3223)
    .option(
      '--host <address>',
      'listen on this address; if other machines can reach it, a login is required',
      '127.0.0.1',
    )
    .option('--password-file <path>', 'read the login password from this file instead of HOOKBOX_UI_PASSWORD')
    .optionsGroup('The page:')
    .option('--read-only', 'do not allow changes')
    .option('--mask <path>', 'hide this field in event bodies, such as data.items[].name (repeatable)', collected);
  return withNotes(withDb(made), {
    notes: [
      'HOOKBOX_UI_USER is the user name for the login (default: operator). A program that sends HOOKBOX_UI_TOKEN as ' +
        'a bearer token can read the page, for example to scrape /metrics. The page runs no handlers; your processor handles the events that you rerun. On Ctrl-C, the command finishes the work in progress and exits; press Ctrl-C again to exit immediately.',
    ],
  }).action(async (options: UiOptions) => {
    const { ui } = await import('./serve-page.ts');
    const signal = await ui(options);
    process.exitCode = signal === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
  });
}
