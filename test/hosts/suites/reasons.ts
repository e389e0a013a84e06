import { describe, expect, it } from 'vitest';
import { errorOutcome, type Reason } from '../../../src/receive/outcome.ts';
import { rowsUnder } from '../page.ts';

/** Each reason there is, and whether the table of docs/answers.md has it: those are not, which have no line or one of another kind. */
const REASONS: Readonly<Record<Reason, 'in the table' | 'not logged as a refusal'>> = {
  'signature-missing': 'in the table',
  'signature-malformed': 'in the table',
  'signature-mismatch': 'in the table',
  'not-an-event': 'in the table',
  'body-not-base64': 'in the table',
  'body-consumed': 'in the table',
  'encoding-unsupported': 'in the table',
  'body-too-large': 'in the table',
  'body-too-slow': 'in the table',
  'body-in-tiny-chunks': 'in the table',
  'body-no-room': 'in the table',
  'method-not-allowed': 'in the table',
  'not-passed-on': 'in the table',
  'not-passed-on-in-time': 'in the table',
  'no-secret': 'in the table',
  'inbox-failing': 'in the table',
  deadline: 'in the table',
  overloaded: 'in the table',
  closing: 'in the table',
  internal: 'in the table',
  'handler-late': 'not logged as a refusal',
  'body-incomplete': 'not logged as a refusal',
  'handler-busy': 'not logged as a refusal',
  'handler-failed': 'not logged as a refusal',
  'handler-timeout': 'not logged as a refusal',
  'handler-lost': 'not logged as a refusal',
};

/** The table of docs/answers.md. */
export function reasons(): void {
  const rows = rowsUnder('Rejections');

  it('has each reason that is logged, and no other', () => {
    const logged = Object.entries(REASONS).filter(([, where]) => where === 'in the table');
    expect(new Set(rows.map(([reason]) => reason))).toEqual(new Set(logged.map(([reason]) => `\`${reason}\``)));
  });

  describe('has the answer of', () => {
    it.each(rows)('%s', (reason, answer) => {
      const { status, code } = errorOutcome(reason?.replaceAll('`', '') as Reason);
      expect(answer).toBe(`\`${status} ${code}\``);
    });
  });
}
