import type { Inbox } from '../../inbox/contract.ts';
import { eraseEntity, type EraseProgress, type EraseReport } from '../../ops/index.ts';
import { number, plural } from '../../ops/words/format.ts';
import { leftInLog } from '../../ops/erase.ts';
import { requireConsent, typedCount } from './confirm.ts';
import { shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { interruption } from '../shared/interruption.ts';
import { printJson, tell } from '../shared/output.ts';
import { progressBar } from '../shared/progress-bar.ts';
import { byOf } from './by.ts';
import type { ByOptions, InboxOptions } from './event-options.ts';
import { underWay } from '../shared/interruptible.ts';

/** What the arguments of `events erase` say. */
export interface EraseOptions extends InboxOptions, ByOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Removes what is kept about an entity, and resolves with how to exit. */
export async function erase(entity: string, options: EraseOptions): Promise<ExitCode> {
  const { dryRun = false, yes = false, json = false } = options;
  if (!dryRun) requireConsent(yes);
  const signal = interruption();
  await using inbox = await existingInbox(options);

  const found = await erased(inbox, entity, options, signal, true);
  if (signal.aborted) return EXIT.interrupted;
  if (found.erased + found.inProcessing === 0) {
    if (json) printJson(found);
    tell(`${shownInbox(options)} has no event about ${JSON.stringify(entity)}.`);
    tellLog(found.logEmptied);
    return EXIT.notFound;
  }
  if (found.erased === 0) {
    if (json) printJson(found);
    tellInProcessing(found.inProcessing);
    return EXIT.partial;
  }
  const what = `the name of the entity, and the bodies, conflicting bodies and errors of ${plural(found.erased, 'event')}`;
  if (dryRun) {
    if (json) printJson(found);
    tell(`Would erase ${what}.`);
    tellInProcessing(found.inProcessing);
    return EXIT.ok;
  }
  tell(`This erases ${what}. You cannot undo this.`);
  if (!yes && !(await typedCount(found.erased, 'erase them', signal))) {
    tell('Nothing changed.');
    return signal.aborted ? EXIT.interrupted : EXIT.failed;
  }

  const report = await erased(inbox, entity, options, signal, false);
  if (json) printJson(report);
  tell(`${plural(report.erased, 'event')} erased.${signal.aborted ? ' To continue, run the same command again.' : ''}`);
  tellInProcessing(report.inProcessing);
  if (report.audit !== null) tellLog(report.logEmptied);
  if (signal.aborted) return EXIT.interrupted;
  return report.inProcessing > 0 ? EXIT.partial : EXIT.ok;
}

function erased(
  inbox: Inbox,
  entity: string,
  options: EraseOptions,
  signal: AbortSignal,
  dryRun: boolean,
): Promise<EraseReport> {
  const progress = progressBar();
  const onProgress = (now: EraseProgress): void => progress.show(...shown(now));
  return underWay(signal, progress, () => eraseEntity(inbox, entity, byOf(options), { dryRun, signal, onProgress }));
}

function shown(progress: EraseProgress): [share: number | null, text: string] {
  switch (progress.step) {
    case 'indexing':
      return [null, `${plural(progress.left, 'event')} left to index`];
    case 'looking':
      return [null, `${plural(progress.examined, 'event')} searched, ${number(progress.found)} found`];
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
