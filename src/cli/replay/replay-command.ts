import type { Command } from 'commander';
import { eventStates } from '../../inbox/event.ts';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import { collected, collectedFrom, positiveNumber, wholeNumber } from '../shared/option-values.ts';
import type { ReplayOptions } from './replay-events.ts';
import { withSending } from '../shared/sending/sending-options.ts';

/** `hookbox replay` */
export function replayCommand(): Command {
  const replay = command('replay', 'send stored events or files again, with new signatures', [
    'hookbox replay evt_1 evt_2',
    'hookbox replay --state dead --since 2h --to http://localhost:4000/webhooks',
    'hookbox replay --all --quiet --concurrency 8',
    'hookbox replay captured/ --rate 10',
  ])
    .argument('[sources...]', 'ids of stored events, full or shortened (evt_…wYb2); files; or folders of *.json files')
    .optionsGroup(GROUP.events)
    .option('--all', 'every stored event')
    .option(
      '--state <state>',
      `events in this state: ${eventStates.join(', ')} (repeatable)`,
      collectedFrom(eventStates),
    )
    .option('--since <time>', 'events received at or after this time: an age (2h) or an ISO date (UTC)')
    .option('--until <time>', 'events received before this time')
    .option('--type <type>', 'events of this type (repeatable)', collected)
    .option('--endpoint <name>', 'events received at this endpoint', 'default')
    .option(
      '--after <seq>',
      'events with a higher number than this; use it to continue a stopped replay',
      wholeNumber(0),
    )
    .option('--skip <n>', 'skip the first n ids and files', wholeNumber(0));
  const sending = withSending(replay)
    .option('--quiet', 'print only deliveries that were not accepted')
    .option('--dry-run', 'list what would be sent; send nothing')
    .optionsGroup(GROUP.delivery)
    .option('--rate <n>', 'send at most this many deliveries per second', positiveNumber);
  return withNotes(withDb(sending, 'the inbox that contains the stored events'), {
    notes: [
      'Use replay to send events to a different receiver, or to send events that your receiver has lost. A ' +
        'hookbox receiver that already has an event answers "duplicate" and runs no handler (an inline receiver runs a failed handler again). To run the handler of a ' +
        'dead event again, use "hookbox events rerun". replay does not follow redirects.',
    ],
    exitCodes: {
      0: 'all deliveries were accepted',
      1: 'no delivery was accepted',
      3: 'only some deliveries were accepted',
      4: 'no event matched',
    },
  }).action(async (sources: string[], options: ReplayOptions) => {
    const { replay } = await import('./replay-events.ts');
    process.exitCode = await replay(sources, options);
  });
}
