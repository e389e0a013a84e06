import type { Command } from 'commander';
import { command } from '../command.ts';
import type { CaptureOptions } from '../fixture-files/capture.ts';
import { printBytes, printJson } from '../output.ts';

/** `hookbox fixtures` */
export function fixturesCommand(): Command {
  return command('fixtures', 'bodies to test with, of the package and of your inbox', [
    'hookbox fixtures list',
    'hookbox fixtures show order.created > body.json',
    'hookbox fixtures capture evt_3PqT8mXkRz4VwYb2 --redact --out odd-order.json',
  ])
    .addCommand(listCommand())
    .addCommand(showCommand())
    .addCommand(captureCommand());
}

function listCommand(): Command {
  return command('list', 'list the bodies of the package', [
    'hookbox fixtures list',
    'hookbox fixtures list --json | jq -r \'.[] | select(.expect == "refused").name\'',
  ])
    .option('--json', 'print them as JSON')
    .action(async ({ json }: { readonly json?: boolean }) => {
      const [{ catalog }, { table }] = await Promise.all([
        import('../fixture-files/catalog.ts'),
        import('../table.ts'),
      ]);
      const entries = catalog();
      if (json === true) printJson(entries);
      else
        table(
          ['name', 'is', 'what'],
          entries.map(({ name, expect, what }) => [name, expect, what]),
        );
    });
}

function showCommand(): Command {
  return command('show', 'print the exact bytes of a body', [
    'hookbox fixtures show order.created',
    'hookbox fixtures show edge/refused-bom | xxd | head -1',
  ])
    .argument('<name>', 'a name that hookbox fixtures list shows')
    .action(async (name: string) => {
      const { bodyNamed } = await import('../fixture-files/catalog.ts');
      printBytes(bodyNamed(name));
    });
}

function captureCommand(): Command {
  return command('capture', 'save the stored bytes of an event, to test with', [
    'hookbox fixtures capture evt_3PqT8mXkRz4VwYb2 --out odd-order.json',
    'hookbox fixtures capture evt_3PqT8mXkRz4VwYb2 --db shop.db --redact | hookbox sign -',
  ])
    .argument('<event-id>', 'the id of the event')
    .option('--db <file>', 'the inbox with the stored events', 'hookbox.db')
    .option('--endpoint <name>', 'the endpoint that it was received at', 'default')
    .option('--out <file>', 'write to this file instead of standard output')
    .option('--force', 'write over the file that is there')
    .option('--redact', 'replace personal and business values by made-up ones of the same shape')
    .addHelpText(
      'after',
      '\n--redact keeps prefixes of ids, lengths of texts, numbers of digits, counts, times, types and statuses. Equal\n' +
        'values stay equal, and the event stays valid; its id and its signature change. Field names stay: look through the\n' +
        'file before you give it away. An inbox of an older hookbox gets the tables that this version needs.',
    )
    .action(async (id: string, options: CaptureOptions) => {
      const { capture } = await import('../fixture-files/capture.ts');
      await capture(id, options);
    });
}
