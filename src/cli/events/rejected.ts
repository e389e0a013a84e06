import { rejectedDeliveries, type RejectedDelivery } from '../../ops/index.ts';
import { number } from '../../ops/words/format.ts';
import { causeOfRejection } from '../../ops/words/rejection-causes.ts';
import { shownInbox } from '../shared/db-option.ts';
import { existingInbox } from '../shared/existing-inbox.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { printNdjson, tell } from '../shared/output.ts';
import { lineWidth, table, texts, times, type Cell } from '../shared/table.ts';
import type { WideOptions } from '../shared/wide-option.ts';
import { oneLine } from '../../printable.ts';
import type { InboxOptions } from './event-options.ts';
import { timeText, orDash } from './event-texts.ts';

/** What the arguments of `events rejected` say. */
export interface RejectedOptions extends InboxOptions, WideOptions {
  readonly limit: number;
}

/** Prints the deliveries that were not taken in, the latest first. */
export async function rejected(options: RejectedOptions): Promise<ExitCode> {
  const { limit, json = false } = options;
  await using inbox = await existingInbox(options);
  const deliveries = await rejectedDeliveries(inbox, limit);
  if (json) {
    for (const delivery of deliveries) printNdjson(delivery);
    return EXIT.ok;
  }
  if (deliveries.length === 0) {
    tell(`${shownInbox(options)} has no rejected deliveries.`);
    return EXIT.ok;
  }
  table(HEAD, deliveries.map(rowOf), lineWidth(options));
  for (const reason of new Set(deliveries.map((each) => each.reason))) {
    const { cause, advice } = causeOfRejection(reason, inbox);
    tell('', `${oneLine(reason)}: ${cause}`, `  ${advice}`);
  }
  return EXIT.ok;
}

const HEAD = [
  times('last'),
  times('first'),
  'times',
  texts('reason'),
  'bytes',
  texts('from'),
  texts('endpoint'),
  'sha-256 of the body',
];

function rowOf({ lastAt, firstAt, count, reason, bytes, source, endpoint, sha256 }: RejectedDelivery): readonly Cell[] {
  return [
    timeText(lastAt),
    timeText(firstAt),
    number(count),
    oneLine(reason),
    bytes === null ? '-' : number(bytes),
    orDash(source),
    oneLine(endpoint),
    orDash(sha256),
  ];
}
