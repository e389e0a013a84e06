import type { Command } from 'commander';
import { eventStates } from '../../inbox/state.ts';
import { command } from '../shared/command.ts';
import { withDb } from '../shared/db-option.ts';
import { collected, collectedFrom, positiveNumber, wholeNumber } from '../shared/option-values.ts';
import type { ReplayOptions } from './replay-events.ts';
import { withSending } from '../shared/sending/sending-options.ts';

/** `hookbox replay` */
export function replayCommand(): Command {
  const replay = command('replay', 'send stored events or files again: the same bytes under a fresh signature', [
    'hookbox replay evt_1 evt_2',
    'hookbox replay --state dead --since 2h --to http://localhost:4000/webhooks',
    'hookbox replay --all --quiet --concurrency 8',
    'hookbox replay captured/ --rate 10',
  ])
    .argument('[sources...]', 'ids of stored events, files, or folders (their *.json files by name)')
    .option('--endpoint <name>', 'the endpoint that received them', 'default')
    .option('--all', 'every stored event')
    .option('--type <type>', 'stored events of this type; may be repeated', collected)
    .option(
      '--status, --state <state>', // --status is its older name
      `stored events in this state (${eventStates.join(', ')}); may be repeated`,
      collectedFrom(eventStates),
    )
    .option('--since <time>', 'stored events received then or later: 2h ago, or an ISO date (UTC)')
    .option('--until <time>', 'stored events received before then')
    .option('--after <seq>', 'stored events after this number, to go on where a replay stopped', wholeNumber(0))
    .option('--skip <n>', 'leave out the first n ids and files', wholeNumber(0))
    .option('--rate <n>', 'at most this many a second', positiveNumber)
    .option('--quiet', 'print only what was not accepted')
    .option('--dry-run', 'list what would be sent, and send nothing');
  return withSending(withDb(replay, 'the inbox with the stored events'))
    .addHelpText(
      'after',
      '\nReplay is for other receivers, and for events that yours has lost: a receiver that has an event answers that it is\n' +
        'a duplicate, and runs no handler. To handle a dead event again, use hookbox events rerun. Redirects are not\n' +
        'followed.\n' +
        'Exit codes: 0 all were accepted, 3 only some, 1 none, 4 nothing was found.',
    )
    .action(async (sources: string[], options: ReplayOptions) => {
      const { replay } = await import('./replay-events.ts');
      process.exitCode = await replay(sources, options);
    });
}
