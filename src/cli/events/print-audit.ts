import { auditLines, type AuditLine } from '../../ops/index.ts';
import { number } from '../../ops/words/format.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { oneLine } from '../../printable.ts';
import { printNdjson, tell } from '../shared/output.ts';
import { growingTable, lineWidth, texts, times, type Cell } from '../shared/table.ts';
import type { NewestOptions } from './event-options.ts';
import { timeText, orDash } from './event-texts.ts';

/** Prints what operators did, the newest first. */
export async function audit(options: NewestOptions): Promise<ExitCode> {
  const { limit, before, json = false } = options;
  await using inbox = await existingInbox(options);
  const { lines, next } = await auditLines(inbox, { limit, ...(before !== undefined && { before }) });
  if (json) for (const line of lines) printNdjson(line);
  else if (lines.length > 0) growingTable(HEAD, lineWidth(options))(lines.map(rowOf));
  if (lines.length === 0) tell('Nobody has done anything yet.');
  if (next !== null) tell(`There are older ones. To go on, add --before ${next}`);
  return EXIT.ok;
}

const HEAD = [times('at'), texts('who'), 'through', texts('act'), texts('counts'), texts('why'), 'what'];

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
