import { pruneEvents, type PruneCriteria } from '../../ops/index.ts';
import { keepUp } from '../../ops/prune.ts';
import { number, plural } from '../../ops/words/format.ts';
import { requireConsent, typedCount } from './confirm.ts';
import { shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { timeOption } from '../shared/time-option.ts';
import { printJson, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { byOf } from './by.ts';
import type { ByOptions, InboxOptions } from './event-options.ts';
import { timeText } from './event-texts.ts';
import { underWay } from '../shared/interruptible.ts';

/** What the arguments of `events prune` say. */
export interface PruneCommandOptions extends InboxOptions, ByOptions {
  readonly olderThan: string;
  readonly state?: PruneCriteria['states'];
  readonly type?: readonly string[];
  readonly endpoint?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Takes the bodies of old events away, and resolves with how to exit. */
export async function prune(options: PruneCommandOptions): Promise<ExitCode> {
  const { state, type, endpoint, dryRun = false, yes = false, json = false } = options;
  const criteria: PruneCriteria = {
    settledBefore: timeOption('--older-than', options.olderThan),
    ...(state && { states: state }),
    ...(type && { types: type }),
    ...(endpoint !== undefined && { endpoint }),
  };
  if (!dryRun) requireConsent(yes);
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const by = byOf(options);

  const counting = progressBar();
  const { pruned: total } = await underWay(signal, counting, () =>
    pruneEvents(inbox, criteria, by, {
      dryRun: true,
      signal,
      onProgress: (found) => counting.show(null, `${plural(found, 'event')} found`),
    }),
  );
  if (signal.aborted) return EXIT.interrupted;
  const what = `${plural(total, 'event')} (${(state ?? ['processed']).join(', ')} before ${timeText(criteria.settledBefore)})`;
  if (dryRun || total === 0) {
    if (!dryRun) await keepUp(inbox, by, signal);
    if (json) printJson({ pruned: total, audit: null });
    tell(total === 0 ? `${shownInbox(options)} has no event to prune.` : `Would prune ${what}.`);
    return EXIT.ok;
  }
  tell(`This prunes ${what}. It removes bodies, conflicting bodies and errors, and keeps ids, states and hashes.`);
  if (!yes && !(await typedCount(total, 'prune them', signal))) {
    tell('Nothing changed.');
    return signal.aborted ? EXIT.interrupted : EXIT.failed;
  }

  const progress = progressBar();
  const report = await underWay(signal, progress, () =>
    pruneEvents(inbox, criteria, by, {
      signal,
      onProgress: (pruned) => progress.show(pruned / total, `${number(pruned)} of ${number(total)}`),
    }),
  );
  if (json) printJson(report);
  tell(`${plural(report.pruned, 'event')} pruned.${signal.aborted ? ' To continue, run the same command again.' : ''}`);
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}
