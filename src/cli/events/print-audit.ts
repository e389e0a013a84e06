import { auditLines, type AuditFilter, type AuditLine } from '../../ops/index.ts';
import { noneInWords } from '../../ops/audit.ts';
import { number } from '../../ops/words/format.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, usageError, type ExitCode } from '../shared/exit.ts';
import { timeOption } from '../shared/time-option.ts';
import { oneLine } from '../../printable.ts';
import { printNdjson, tell } from '../shared/output.ts';
import { growingTable, lineWidth, texts, times, type Cell } from '../shared/table.ts';
import type { NewestOptions } from './event-options.ts';
import { timeText, orDash } from './event-texts.ts';

/** What the arguments of `events audit` say. */
export interface AuditOptions extends NewestOptions {
  readonly actor?: string;
  readonly since?: string;
  readonly until?: string;
}

/** Prints what operators did, the newest first. */
export async function audit(options: AuditOptions): Promise<ExitCode> {
  const { limit, before, json = false } = options;
  const filter = filterOf(options);
  await using inbox = await existingInbox(options);
  const { lines, next } = await auditLines(inbox, { ...filter, limit, ...(before !== undefined && { before }) });
  if (json) for (const line of lines) printNdjson(line);
  else if (lines.length > 0) growingTable(HEAD, lineWidth(options))(lines.map(rowOf));
  if (lines.length === 0)
    tell(noneInWords({ isFiltered: Object.keys(filter).length > 0, isFurther: before !== undefined, next }));
  if (next !== null) tell(`Older entries exist. For the next page, add --before ${next}`);
  return EXIT.ok;
}

function filterOf({ actor, since, until }: AuditOptions): AuditFilter {
  if (actor?.trim() === '') throw usageError('--actor must not be empty.');
  return {
    ...(actor !== undefined && { actor }),
    ...(since !== undefined && { since: timeOption('--since', since) }),
    ...(until !== undefined && { until: timeOption('--until', until) }),
  };
}

const HEAD = [times('at'), texts('by'), 'through', texts('action'), texts('counts'), texts('reason'), 'what'];

function rowOf({ at, actor, via, act, counts, reason, filter }: AuditLine): readonly Cell[] {
  return [
    timeText(at),
    oneLine(actor),
    via,
    oneLine(act),
    oneLine(
      Object.entries(counts)
        .map(([what, count]) => `${what} ${number(count)}`)
        .join(', '),
    ),
    orDash(reason),
    oneLine(JSON.stringify(filter)),
  ];
}
