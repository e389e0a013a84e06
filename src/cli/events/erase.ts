import { eraseEntity } from '../../ops/index.ts';
import { plural } from '../../ops/words/format.ts';
import { requireConsent, typedCount } from '../confirm.ts';
import { existingInbox } from '../existing-inbox.ts';
import { EXIT, type ExitCode } from '../exit.ts';
import { interruption } from '../interruption.ts';
import { printJson, tell } from '../output.ts';
import { byOf } from './by.ts';
import type { ByOptions, InboxOptions } from './options.ts';

/** What the arguments of `events erase` say. */
export interface EraseOptions extends InboxOptions, ByOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Removes what is kept about an entity, and resolves with how to exit. */
export async function erase(entity: string, options: EraseOptions): Promise<ExitCode> {
  const { db, dryRun = false, yes = false, json = false } = options;
  if (!dryRun) requireConsent(yes);
  const signal = interruption();
  await using inbox = existingInbox(db);
  const by = byOf(options);

  const found = await eraseEntity(inbox, entity, by, { dryRun: true });
  if (found.erased + found.inProcessing === 0) {
    if (json) printJson(found);
    tell(`Nothing in ${db} is about ${JSON.stringify(entity)}.`);
    return EXIT.notFound;
  }
  if (found.erased === 0) {
    if (json) printJson(found);
    tellInProcessing(found.inProcessing);
    return EXIT.partial;
  }
  const what = `${plural(found.erased, 'event')}: bodies, errors and other bodies, and the name itself`;
  if (dryRun) {
    if (json) printJson(found);
    tell(`would erase ${what}.`);
    tellInProcessing(found.inProcessing);
    return EXIT.ok;
  }
  tell(`erase ${what}. Nothing brings them back.`);
  if (!yes && !(await typedCount(found.erased, 'erase them', signal))) {
    tell('Nothing was done.');
    return signal.aborted ? EXIT.interrupted : EXIT.failed;
  }

  const report = await eraseEntity(inbox, entity, by);
  if (json) printJson(report);
  tell(`${plural(report.erased, 'event')} erased.`);
  tellInProcessing(report.inProcessing);
  if (signal.aborted) return EXIT.interrupted;
  return report.inProcessing > 0 ? EXIT.partial : EXIT.ok;
}

function tellInProcessing(count: number): void {
  if (count === 0) return;
  const [are, their] = count === 1 ? ['is', 'its handler has'] : ['are', 'their handlers have'];
  tell(`${plural(count, 'event')} ${are} in processing and left: erase again when ${their} ended.`);
}
