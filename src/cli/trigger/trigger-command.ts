import { Option, type Command } from 'commander';
import { EVENT_MEANINGS } from '../../events/event-types.ts';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { nameList } from '../shared/help-lines.ts';
import { collected, positiveNumber, wholeNumber } from '../shared/option-values.ts';
import { withOwnModule } from '../shared/with-own-module.ts';
import { withSending } from '../shared/sending/sending-options.ts';
import type { TriggerOptions } from './send-trigger.ts';

/** `hookbox trigger` */
export function triggerCommand(): Command {
  const trigger = command('trigger', 'sign an event and send it to a receiver', [
    'hookbox trigger order.created',
    'hookbox trigger order.created --override data.total=12.50 --override data.items.0.quantity=3 --remove ' +
      'data.currency',
    'hookbox trigger inventory.updated --count 1000 --concurrency 16',
    'hookbox trigger order.ready --event-id evt_1 --count 3',
    'hookbox trigger order.confirmed --override data.id=ord_1',
    'hookbox trigger order.ready --tamper body --expect-status 401',
    'hookbox trigger order.ready --schedule service --time-scale 3600',
    'hookbox trigger body.json --print-curl',
    'hookbox trigger loyalty.earned --events events.mjs --override data.account=a --override data.points=5',
    'hookbox trigger cart.abandoned --dry-run > body.json',
  ])
    .argument('<event>', 'an event type, for a new event; or a file (- for standard input), which is sent unchanged')
    .optionsGroup(GROUP.event)
    .option('--override <path=value>', 'set a value, given as JSON or text (repeatable)', collected)
    .option('--count <n>', 'deliver n events; each event that trigger creates has its own id', wholeNumber(1), 1)
    .option('--event-id <id>', 'the id of the event; with --count, deliver this event n times')
    .option('--remove <path>', 'remove a value, after the overrides are applied (repeatable)', collected)
    .option('--events <module>', 'a module (.js, .mjs, .ts) that exports the schemas of your own types as `events`')
    .addOption(
      new Option('--tamper <what>', 'change the body or signature after signing').choices(['body', 'signature']),
    );
  return withNotes(
    withSending(trigger)
      .option('--dry-run', 'print the body; send nothing')
      .option('--print-curl', 'print a curl command, which does not contain the secret; send nothing')
      .optionsGroup(GROUP.delivery)
      .option('--expect-status <code>', 'require this status instead of any 2xx', wholeNumber(100, 599))
      .addOption(
        new Option('--schedule <whose>', 'retry failed deliveries as the service does, for up to 31 hours').choices([
          'service',
        ]),
      )
      .option('--time-scale <n>', 'with --schedule: divide the waits by n', positiveNumber),
    {
      notes: [
        nameList('Types', EVENT_MEANINGS),
        'Each created event is about a different order, cart or product. To send several events about the same order, cart or product, use --override data.id=… (data.product_id=… for inventory events). A failing handler then ' +
          'holds back the later events. For a type of your own, data has only the fields that you set with --override. trigger ' +
          'does not follow redirects.',
      ],
      exitCodes: {
        0: 'all responses were as expected',
        1: 'no response was as expected',
        3: 'only some responses were as expected',
      },
    },
  ).action(async (event: string, options: TriggerOptions) => {
    const { trigger } = await import('./send-trigger.ts');
    await withOwnModule(options.events, async () => {
      process.exitCode = await trigger(event, options);
    });
  });
}
