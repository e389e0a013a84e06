import type { Issue } from '../../events/webhook-event.ts';
import { oneLine } from '../../printable.ts';
import { isSuccess } from '../../sender/deliver.ts';
import { invalidText, print, printNdjson, styled, tell, tenths, tookText } from '../shared/output.ts';

export type Output = 'interactive' | 'compact' | 'ndjson';

type ServeReport = DeliveryReport | AttemptReport | ForwardReport;

export interface DeliveryReport {
  readonly kind: 'delivery';
  readonly at: Date;
  readonly status: number;
  readonly outcome: string;
  readonly type: string | null;
  readonly id: string | null;
  readonly ms: number;
  readonly reason: string | null;
  /** its body differs from the stored body with its id */
  readonly conflict: boolean;
  /** authentic, but it fits no schema: stored as dead */
  readonly invalid: boolean;
  readonly issue: Issue | null;
  readonly unhandled: boolean;
}

export interface AttemptReport {
  readonly kind: 'attempt';
  readonly at: Date;
  readonly outcome: 'processed' | 'failed' | 'dead' | 'interrupted' | 'lost';
  readonly type: string | null;
  readonly id: string;
  readonly attempt: number;
  readonly ms: number;
  /** the error of the handler; for `processed`, an error after its transaction was committed */
  readonly error: string | null;
  readonly stack: string | null;
  readonly againAt: Date | null;
}

export interface ForwardReport {
  readonly kind: 'forward';
  readonly at: Date;
  readonly status: number | null;
  readonly type: string | null;
  readonly id: string;
  readonly ms: number;
  readonly to: string;
  readonly answer: string | null;
  readonly problem: string | null;
}

export function reporter(output: Output, verbose: boolean): (report: ServeReport) => void {
  return (report) => {
    if (output === 'ndjson') printNdjson({ ...report, ms: tenths(report.ms) });
    else print((output === 'interactive' ? interactive : compact)(report, lineOf(report)));
    if (verbose && report.kind === 'attempt' && report.stack !== null) {
      tell(report.stack.split('\n').map((line) => oneLine(line)));
    }
  };
}

interface Line {
  readonly word: string;
  readonly good: boolean;
  readonly subject: string;
  readonly details: string;
}

function lineOf(report: ServeReport): Line {
  if (report.kind === 'delivery') {
    const { status, outcome, id, reason, conflict, invalid, issue, unhandled } = report;
    const remarks = [
      conflict ? 'a different body with this id' : '',
      invalid ? invalidText(issue) : '',
      unhandled ? 'no handler' : '',
    ];
    const details = remarks.filter((remark) => remark !== '').join(', ');
    return { word: `${status} ${outcome}`, good: status < 300, subject: oneLine(id ?? reason ?? '-'), details };
  }
  const subject = oneLine(report.id);
  if (report.kind === 'attempt') {
    const { outcome, attempt, error, againAt } = report;
    const again = againAt === null ? '' : `, again at ${againAt.toISOString()}`;
    const threw = outcome === 'processed' ? ', threw after its commit: ' : ': ';
    const details = `attempt ${attempt}${error === null ? '' : threw + oneLine(error)}${again}`;
    return { word: `handler ${outcome}`, good: outcome === 'processed' && error === null, subject, details };
  }
  const { status, to, answer, problem } = report;
  const more = problem ?? answer;
  const details = more === null ? to : `${to}: ${oneLine(more)}`;
  return { word: `forwarded ${status ?? '---'}`, good: isSuccess(status), subject, details };
}

function compact({ at, type, ms }: ServeReport, { word, subject, details }: Line): string {
  const parts = [at.toISOString(), word, oneLine(type ?? '-'), subject, tookText(ms)];
  return details === '' ? parts.join(' ') : `${parts.join(' ')} (${details})`;
}

function interactive({ at, type, ms, kind }: ServeReport, { word, good, subject, details }: Line): string {
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0'));
  return [
    styled('dim', time.join(':')),
    styled(good ? 'green' : 'red', (kind === 'delivery' ? word : `  ${word}`).padEnd(19)),
    oneLine(type ?? '-').padEnd(22),
    subject.padEnd(24),
    styled('dim', tookText(ms).padStart(10)),
    details,
  ]
    .join('  ')
    .trimEnd();
}
