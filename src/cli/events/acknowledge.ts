import { quoted } from '../../host/shell-words.ts';
import { acknowledgeGroup, reopenGroup } from '../../ops/index.ts';
import { plural } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { existingInbox } from '../shared/inbox.ts';
import { neededInbox } from '../shared/options.ts';
import { EXIT, print, printJson, tell, type ExitCode } from '../shared/output.ts';
import { byOf, type ByOptions, type InboxOptions } from './options.ts';

interface AcknowledgeOptions extends InboxOptions, ByOptions {
  readonly link?: string;
}

export async function acknowledge(group: string, options: AcknowledgeOptions): Promise<ExitCode> {
  const { json = false, link } = options;
  await using inbox = await existingInbox(options);
  const given = link === undefined ? {} : { link };
  const { acknowledgement } = await acknowledgeGroup(inbox, group, byOf(options), given);
  if (acknowledgement === null) {
    tell(`No dead event belongs to the group ${oneLine(group)}. To list the groups: hookbox events list --groups`);
    return EXIT.notFound;
  }
  if (json) printJson(acknowledgement);
  else print(`Acknowledged ${plural(acknowledgement.count, 'dead event')} of the group ${oneLine(group)}.`);
  const reopening = ['hookbox events reopen', quoted(group), ...neededInbox(options)].join(' ');
  tell(`The group reopens when another of its events becomes dead. To reopen it now: ${reopening}`);
  return EXIT.ok;
}

export async function reopen(group: string, options: InboxOptions & ByOptions): Promise<ExitCode> {
  await using inbox = await existingInbox(options);
  const removed = await reopenGroup(inbox, group, byOf(options));
  if (removed === null) {
    tell(`The group ${oneLine(group)} is not acknowledged.`);
    return EXIT.notFound;
  }
  if (options.json === true) printJson(removed);
  else print(`The group ${oneLine(group)} is reopened.`);
  return EXIT.ok;
}
