import { Option, type Command } from 'commander';
import { EVENT_MEANINGS } from '../../events/event-meanings.ts';
import { command } from '../shared/command.ts';
import { collected, positiveNumber, wholeNumber } from '../shared/option-values.ts';
import { withOwnModule } from '../shared/with-own-module.ts';
import { withSending } from '../shared/sending/sending-options.ts';
import type { TriggerOptions } from './send-trigger.ts';

const TYPE_WIDTH = Math.max(...Object.keys(EVENT_MEANINGS).map(({ length }) => length));
const TYPES = Object.entries(EVENT_MEANINGS)
  .map(([type, meaning]) => `  ${type.padEnd(TYPE_WIDTH)}  ${meaning}`)
  .join('\n');

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
    'hookbox trigger loyalty.earned --events events.mjs --override data.account=a --override data.points=5',
    'hookbox trigger cart.abandoned --dry-run > body.json',
  ])
    .argument('<event>', 'a type, of which a new event is made; or a file, or - for standard input, sent as it is')
    .option('--events <module>', 'a module (.js, .mjs, .ts) with the schemas of types of your own as `events`')
    .option('--override <path=value>', 'set a value (JSON, or else text); may be repeated', collected)
    .option('--remove <path>', 'remove a value after the overrides; may be repeated', collected)
    .option('--event-id <id>', 'the id of the event; with --count, one event delivered n times')
    .option('--count <n>', 'deliver n events; of a type, each has its own id', wholeNumber(1), 1)
    .addOption(
      new Option('--tamper <what>', 'change the body or the signature after signing').choices(['body', 'signature']),
    )
    .addOption(
      new Option('--schedule <whose>', 'retry failures as the service does, for up to 31 hours').choices(['service']),
    )
    .option('--time-scale <n>', 'with --schedule: divide the waits by n', positiveNumber)
    .option('--print-curl', 'print a curl command without the secret, and send nothing')
    .option('--dry-run', 'print the body, and send nothing')
    .option('--expect-status <code>', 'the only right status, instead of any 2xx', wholeNumber(100, 599));
  return withSending(trigger)
    .addHelpText(
      'after',
      `\nTypes:\n${TYPES}\n\n` +
        'An event made from a type has its own order, cart or product. To relate events, --override data.id=… (for inventory\n' +
        'events data.product_id=…). A failing handler holds back later events of the same one. Redirects are not followed.\n' +
        'An event of a type of your own has no data but what --override says.\n' +
        'Exit codes: 0 all answers were right, 3 only some, 1 none.',
    )
    .action(async (event: string, options: TriggerOptions) => {
      const { trigger } = await import('./send-trigger.ts');
      await withOwnModule(options.events, async () => {
        process.exitCode = await trigger(event, options);
      });
    });
}
