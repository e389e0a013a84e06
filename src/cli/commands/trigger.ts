import { Option, type Command } from 'commander';
import { command } from '../command.ts';
import { collected, positiveNumber, wholeNumber } from '../option-values.ts';
import { withSending } from '../sending/options.ts';
import type { TriggerOptions } from '../trigger/trigger.ts';

/** `hookbox trigger` */
export function triggerCommand(): Command {
  const trigger = command('trigger', 'sign an event and deliver it', [
    'hookbox trigger order.created',
    'hookbox trigger order.created --override data.total=12.50 --override data.items.0.quantity=3 --remove data.currency',
    'hookbox trigger inventory.updated --count 1000 --concurrency 16',
    'hookbox trigger order.ready --event-id evt_1 --count 3',
    'hookbox trigger order.confirmed --override data.id=ord_1',
    'hookbox trigger order.ready --tamper body --expect-status 401',
    'hookbox trigger order.ready --schedule service --time-scale 3600',
    'hookbox trigger body.json --print-curl',
    'hookbox trigger cart.abandoned --dry-run > body.json',
  ])
    .argument('<event>', 'a type, for an event of its own made now; or a file, or - for standard input, sent as it is')
    .option('--override <path=value>', 'set a value, which is JSON or else a text; may be repeated', collected)
    .option('--remove <path>', 'remove a value, after all overrides; may be repeated', collected)
    .option('--event-id <id>', 'the id of the event; with --count, all of them are deliveries of this one event')
    .option('--count <n>', 'deliver so many; each has an id of its own where a type is given', wholeNumber(1), 1)
    .addOption(
      new Option('--tamper <what>', 'change the body or the signature after signing').choices(['body', 'signature']),
    )
    .addOption(
      new Option('--schedule <whose>', 'retry what fails as the service does, for up to 31 hours').choices(['service']),
    )
    .option('--time-scale <n>', 'with --schedule: divide the waits by this', positiveNumber)
    .option('--print-curl', 'print a curl command that sends it, and send nothing; the secret is not in it')
    .option('--dry-run', 'print the bytes of the body, and send nothing')
    .option('--expect-status <code>', 'only this status is right, instead of every 2xx', wholeNumber(100, 599));
  return withSending(trigger)
    .addHelpText(
      'after',
      '\nAn event that is made from a type has an order, cart or product of its own; --override data.id=… (for inventory\n' +
        'events data.product_id=…) relates events. A failing handler holds back what comes later of the same one.\n' +
        'Exit codes: 0 all answers were right, 3 only some, 1 none. Redirects are not followed.',
    )
    .action(async (event: string, options: TriggerOptions) => {
      const { trigger } = await import('../trigger/trigger.ts');
      process.exitCode = await trigger(event, options);
    });
}
