import type { Issue } from '../../events/webhook-event.ts';
import { labelOf } from '../../sender/event-json.ts';
import { realClock } from '../../sender/sender-clock.ts';
import { MAX_ATTEMPTS, retryAfter } from '../../sender/faults.ts';
import { createService, type DeliveryAttempt } from '../../sender/service.ts';
import { EXIT, type ExitCode } from '../shared/exit.ts';
import { STOPS_AFTER_ANSWERS } from '../shared/interruption.ts';
import { oneLine } from '../../printable.ts';
import { issueText } from '../shared/invalid-text.ts';
import { print, printNdjson, styled, tell, tenths, tookText } from '../shared/output.ts';
import { givenHeaders } from '../shared/sending/given-headers.ts';
import { exitCodeOf } from '../shared/sending/send-all.ts';
import type { BodyMaker, Judge } from './trigger-bodies.ts';

/** Where to deliver, and how fast. */
export interface ScheduleOptions {
  readonly to: URL;
  readonly secret: string;
  /** as `--header` gives them */
  readonly header?: readonly string[];
  readonly count: number;
  readonly concurrency: number;
  /** an hour takes a second with 3600 */
  readonly timeScale: number;
  readonly json: boolean;
  readonly judge: Judge;
  readonly signal: AbortSignal;
}

/** Delivers as the service does, with its retries, until each event is delivered or given up on. */
export async function deliverOnSchedule(makeBody: BodyMaker, options: ScheduleOptions): Promise<ExitCode> {
  const { to, secret, count, concurrency, timeScale, json, judge, signal } = options;
  const issues = new Map<string | null, Issue>();
  signal.addEventListener('abort', () => tell(STOPS_AFTER_ANSWERS));
  using service = createService({
    url: to,
    secret,
    headers: givenHeaders(options.header),
    concurrency,
    clock: realClock({ scale: timeScale }),
    signal,
    onAttempt: (attempt) => {
      const issue = issues.get(attempt.id) ?? null;
      if (json) printNdjson({ ...attempt, ms: tenths(attempt.ms), ...(issue && { invalid: issue }) });
      else printAttempt(attempt, issue, timeScale);
    },
  });
  const deliverNext = () => {
    const body = makeBody();
    const issue = judge(body);
    if (issue !== null) issues.set(labelOf(body).id, issue);
    return service.deliver(body);
  };
  const ends = await Promise.all(Array.from({ length: count }, deliverNext));
  const ended = (outcome: string): number => ends.filter((end) => end.outcome === outcome).length;
  const ok = ended('delivered');
  const failed = ended('dead-lettered');
  const interrupted = ended('interrupted');
  const parts = [
    `${ok} delivered`,
    `${failed} dead-lettered${failed > 0 ? ` after ${MAX_ATTEMPTS} tries` : ''}`,
    ...(interrupted > 0 ? [`${interrupted} interrupted`] : []),
  ];
  tell(parts.join(', '));
  return interrupted > 0 ? EXIT.interrupted : exitCodeOf({ ok, failed });
}

function printAttempt(attempt: DeliveryAttempt, issue: Issue | null, timeScale: number): void {
  const { id, type, number, status, why, ms } = attempt;
  const fate = issue === null ? '' : `hookbox considers it invalid: ${issueText(issue)}`;
  const columns = [
    styled(why === null ? 'green' : 'red', String(status ?? '---')),
    why === null ? 'delivered' : oneLine(why),
    type === null ? '-' : oneLine(type),
    id === null ? '-' : oneLine(id),
    `try ${number}`,
    tookText(ms),
    why === null ? fate : afterwards(retryAfter(number), timeScale),
  ];
  print(columns.join('  ').trimEnd());
}

function afterwards(ms: number | null, timeScale: number): string {
  if (ms === null) return 'given up';
  const minutes = Math.round(ms / 60_000);
  if (minutes === 0) return 'again now';
  const wait = minutes < 60 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
  return timeScale === 1 ? `again in ${wait}` : `again in ${wait} (${(ms / timeScale / 1_000).toFixed(1)} s here)`;
}
