import { eraseEntity, pruneEvents, type EraseProgress, type EraseReport, type PruneCriteria } from '../../ops/index.ts';
import { keepUp } from '../../ops/prune.ts';
import { number, plural } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/erase.ts';
import { existingInbox } from '../shared/inbox.ts';
import { interruption, underWay } from '../shared/interruption.ts';
import { present, shownInbox, timeOption } from '../shared/options.ts';
import { EXIT, printJson, tell, type ExitCode } from '../shared/output.ts';
import { requireConsent, typedCount } from '../shared/secret.ts';
import { timeText } from './event-table.ts';
import { byOf, type ByOptions, type InboxOptions } from './options.ts';
import { searchedText } from './search.ts';

interface EraseOptions extends InboxOptions, ByOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface PruneOptions extends EraseOptions {
  readonly olderThan: string;
  readonly state?: PruneCriteria['states'];
  readonly type?: readonly string[];
  readonly endpoint?: string;
}

export async function prune(options: PruneOptions): Promise<ExitCode> {
  const { state, type, endpoint, dryRun = false, yes = false, json = false } = options;
  const criteria: PruneCriteria = {
    settledBefore: timeOption('--older-than', options.olderThan),
    ...present({ states: state, types: type, endpoint }),
  };
  if (!dryRun) requireConsent(yes);
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const by = byOf(options);

  const { pruned: total } = await underWay(signal, (progress) => {
    const onProgress = (found: number): void => progress.show(null, `${plural(found, 'event')} found`);
    return pruneEvents(inbox, criteria, by, { dryRun: true, signal, onProgress });
  });
  if (signal.aborted) return EXIT.interrupted;
  const what = `${plural(total, 'event')} (${(state ?? ['processed']).join(', ')} before ${timeText(criteria.settledBefore)})`;
  if (dryRun || total === 0) {
    if (!dryRun) await keepUp(inbox, by, signal);
    if (json) printJson({ pruned: total, audit: null });
    tell(total === 0 ? `${shownInbox(options)} has no event to prune.` : `Would prune ${what}.`);
    return EXIT.ok;
  }
  tell(`This prunes ${what}. It removes bodies, conflicting bodies and errors, and keeps ids, states and hashes.`);
  if (!yes && !(await typedCount(total, 'prune them', signal))) return notAgreed(signal);

  const report = await underWay(signal, (progress) => {
    const onProgress = (pruned: number): void => progress.show(pruned / total, `${number(pruned)} of ${number(total)}`);
    return pruneEvents(inbox, criteria, by, { signal, onProgress });
  });
  if (json) printJson(report);
  tell(`${plural(report.pruned, 'event')} pruned.${signal.aborted ? RUN_AGAIN : ''}`);
  return signal.aborted ? EXIT.interrupted : EXIT.ok;
}

const RUN_AGAIN = ' To continue, run the same command again.';

function notAgreed(signal: AbortSignal): ExitCode {
  tell('Nothing changed.');
  return signal.aborted ? EXIT.interrupted : EXIT.failed;
}

export async function erase(entity: string, options: EraseOptions): Promise<ExitCode> {
  const { dryRun = false, yes = false, json = false } = options;
  if (!dryRun) requireConsent(yes);
  const signal = interruption();
  await using inbox = await existingInbox(options);
  const erased = (mode: { readonly dryRun: boolean }): Promise<EraseReport> =>
    underWay(signal, (progress) => {
      const onProgress = (now: EraseProgress): void => progress.show(...shown(now));
      return eraseEntity(inbox, entity, byOf(options), { ...mode, signal, onProgress });
    });

  const found = await erased({ dryRun: true });
  if (signal.aborted) return EXIT.interrupted;
  const isOver = dryRun || found.erased === 0;
  if (isOver && json) printJson(found);
  if (found.erased + found.inProcessing === 0) {
    tell(`${shownInbox(options)} has no event about ${JSON.stringify(entity)}.`);
    tellLog(found.logEmptied);
    return EXIT.notFound;
  }
  const what = `the name of the entity, and the bodies, conflicting bodies and errors of ${plural(found.erased, 'event')}`;
  if (isOver) {
    if (found.erased > 0) tell(`Would erase ${what}.`);
    tellInProcessing(found.inProcessing);
    return found.erased > 0 ? EXIT.ok : EXIT.partial;
  }
  tell(`This erases ${what}. You cannot undo this.`);
  if (!yes && !(await typedCount(found.erased, 'erase them', signal))) return notAgreed(signal);

  const report = await erased({ dryRun: false });
  if (json) printJson(report);
  tell(`${plural(report.erased, 'event')} erased.${signal.aborted ? RUN_AGAIN : ''}`);
  tellInProcessing(report.inProcessing);
  if (report.audit !== null) tellLog(report.logEmptied);
  if (signal.aborted) return EXIT.interrupted;
  return report.inProcessing > 0 ? EXIT.partial : EXIT.ok;
}

function shown(progress: EraseProgress): [share: number | null, text: string] {
  switch (progress.step) {
    case 'indexing':
      return [null, `${plural(progress.left, 'event')} left to index`];
    case 'looking':
      return [null, searchedText(progress.examined, progress.found)];
    case 'erasing':
      return [progress.worked / progress.total, `${number(progress.worked)} of ${number(progress.total)}`];
  }
}

function tellLog(logEmptied: EraseReport['logEmptied']): void {
  const left = leftInLog(logEmptied);
  if (left !== null) tell(left);
}

function tellInProcessing(count: number): void {
  if (count === 0) return;
  const [are, were, their] = count === 1 ? ['is', 'was', 'its handler has'] : ['are', 'were', 'their handlers have'];
  tell(
    `${plural(count, 'event')} ${are} being processed and ${were} not erased. Run erase again when ${their} finished.`,
  );
}
