import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import { EXIT } from '../shared/exit.ts';
import { collected, wholeNumber } from '../shared/option-values.ts';
import type { UiOptions } from './serve-page.ts';

/** `hookbox ui` */
export function uiCommand(): Command {
  return withDb(
    command('ui', 'show the page for operators in a browser', [
      'hookbox ui',
      'hookbox ui --db shop.db --read-only --mask data.customer.email',
      'HOOKBOX_UI_USER=ada hookbox ui --host 0.0.0.0 --password-file /run/secrets/hookbox-ui',
    ]),
  )
    .option('--port <n>', 'listen on this port; 0 takes a free one', wholeNumber(0, 65_535), 3223)
    .option('--host <address>', 'listen on this address; needs a log-in if others can reach it', '127.0.0.1')
    .option('--password-file <path>', 'file with the password of the log-in, instead of HOOKBOX_UI_PASSWORD')
    .option('--read-only', 'nobody can change anything')
    .option('--mask <path>', 'hide a field of bodies, such as data.items[].name; may be repeated', collected)
    .addHelpText(
      'after',
      '\nHOOKBOX_UI_USER is the user of the log-in (operator unless set). HOOKBOX_UI_TOKEN lets programs read, such as the one\n' +
        'that collects /metrics; they send it as a bearer token. The page runs no handlers: your processor handles what is\n' +
        'rerun. Ctrl-C finishes what is under way; a second Ctrl-C does not wait.',
    )
    .action(async (options: UiOptions) => {
      const { ui } = await import('./serve-page.ts');
      const signal = await ui(options);
      process.exitCode = signal === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
    });
}
