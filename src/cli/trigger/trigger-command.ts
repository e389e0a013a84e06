import { Option, type Command } from 'commander';
import { EVENT_MEANINGS } from '../../events/event-meanings.ts';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { nameList } from '../shared/help-lines.ts';
import { collected, positiveNumber, wholeNumber } from '../shared/option-values.ts';
import { withOwnModule } from '../shared/with-own-module.ts';
import { withSending } from '../shared/sending/sending-options.ts';
import type { TriggerOptions } from './send-trigger.ts';

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
    .argument('<event>', 'a type, for a new event; or a file, or - for standard input, sent unchanged')
    .optionsGroup(GROUP.event)
    .option('--override <path=value>', 'set a value, as JSON or text (repeatable)', collected)
    .option('--count <n>', 'deliver n events; new events of a type have different ids', wholeNumber(1), 1)
    .option('--event-id <id>', 'the id of the event; with --count, deliver this event n times')
    .option('--remove <path>', 'remove a value after the overrides (repeatable)', collected)
    .option('--events <module>', 'a module (.js, .mjs, .ts) that exports the schemas of your own types as `events`')
    .addOption(
      new Option('--tamper <what>', 'change the body or the signature after signing').choices(['body', 'signature']),
    );
  return withNotes(
    withSending(trigger)
      .option('--dry-run', 'print the body; send nothing')
      .option('--print-curl', 'print a curl command without the secret; send nothing')
      .optionsGroup(GROUP.delivery)
      .option('--expect-status <code>', 'require this status instead of any 2xx', wholeNumber(100, 599))
      .addOption(
        new Option('--schedule <whose>', 'retry failures like the service, for up to 31 hours').choices(['service']),
      )
      .option('--time-scale <n>', 'with --schedule: divide the waits by n', positiveNumber),
    {
      notes: [
        nameList('Types', EVENT_MEANINGS),
        'Each new event of a type has its own order, cart or product. To relate events, use --override data.id=… (for ' +
          'inventory events data.product_id=…). A failing handler holds back later events of the same one. For your own ' +
          'type, the data has only what --override sets. Redirects are not followed.',
      ],
      exitCodes: { 0: 'all answers were as expected', 1: 'none was', 3: 'only some were' },
    },
  ).action(async (event: string, options: TriggerOptions) => {
    const { trigger } = await import('./send-trigger.ts');
    await withOwnModule(options.events, async () => {
      process.exitCode = await trigger(event, options);
    });
  });
}
