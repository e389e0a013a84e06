import { replayEvent } from '../../ops/index.ts';
import { plural } from '../../ops/words/format.ts';
import { printableLines, oneLine } from '../../printable.ts';
import { existingInbox } from '../shared/inbox.ts';
import { targetOf } from '../shared/options.ts';
import { CommandError, EXIT, print, printJson, tell, type ExitCode } from '../shared/output.ts';
import { secretOf, type SecretOptions } from '../shared/secret.ts';
import { byOf, type ByOptions, type InboxOptions } from './options.ts';
import { foundEvent } from './search.ts';

interface ReplayOptions extends InboxOptions, ByOptions, SecretOptions {
  readonly to: string;
  readonly endpoint?: string;
  readonly unsigned?: boolean;
  readonly allowRemote?: boolean;
}

export async function replay(id: string, options: ReplayOptions): Promise<ExitCode> {
  const { to, unsigned = false, allowRemote = false, json = false } = options;
  const url = targetOf(to, allowRemote);
  const secret = unsigned ? null : await secretOf(options);
  await using inbox = await existingInbox(options);
  const found = await foundEvent(inbox, id, options);
  if (found === null) return EXIT.notFound;
  const report = await replayEvent(inbox, found, byOf(options), { to: url.href, secret, allow: [url.host] });
  if (report === null) throw new CommandError(`${oneLine(found.id)} was pruned, so its body cannot be sent.`);
  const { ok, body, ms, problem, status } = report;
  if (json) printJson(report);
  else print(printableLines(body));
  tell(`${problem ?? `answered ${status}`} after ${plural(ms, 'millisecond')}`);
  return ok ? EXIT.ok : EXIT.failed;
}
