import { describe, expect, it } from 'vitest';
import { errorOutcome, type Reason, type ErrorOutcome } from '../../src/receive/outcome.ts';
import { rowsUnder } from '../hosts/page.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const RETRY = { 'Retry-After': '5' };
const CLOSE = { Connection: 'close' };

type Row = readonly [ErrorOutcome['kind'], ErrorOutcome['status'], ErrorOutcome['code'], Record<string, string>];

/** docs/answers.md, with the reasons behind each answer. */
const TABLE: Readonly<Record<Reason, Row>> = {
  'signature-missing': ['rejected', 401, 'INVALID_SIGNATURE', {}],
  'signature-malformed': ['rejected', 401, 'INVALID_SIGNATURE', {}],
  'signature-mismatch': ['rejected', 401, 'INVALID_SIGNATURE', {}],
  'not-an-event': ['rejected', 400, 'INVALID_BODY', {}],
  'body-incomplete': ['rejected', 400, 'INVALID_BODY', CLOSE],
  'body-too-large': ['rejected', 413, 'BODY_TOO_LARGE', CLOSE],
  'body-in-tiny-chunks': ['rejected', 400, 'INVALID_BODY', CLOSE],
  'encoding-unsupported': ['rejected', 415, 'UNSUPPORTED_ENCODING', {}],
  'method-not-allowed': ['rejected', 405, 'METHOD_NOT_ALLOWED', { Allow: 'POST' }],
  'body-too-slow': ['unavailable', 503, 'UNAVAILABLE', { ...RETRY, ...CLOSE }],
  'body-no-room': ['unavailable', 503, 'UNAVAILABLE', { ...RETRY, ...CLOSE }],
  'body-consumed': ['unavailable', 500, 'BODY_CONSUMED', {}],
  'body-not-base64': ['rejected', 400, 'INVALID_BODY', {}],
  'no-secret': ['unavailable', 503, 'UNAVAILABLE', RETRY],
  overloaded: ['unavailable', 503, 'UNAVAILABLE', RETRY],
  closing: ['unavailable', 503, 'UNAVAILABLE', { ...RETRY, ...CLOSE }],
  deadline: ['unavailable', 503, 'UNAVAILABLE', RETRY],
  internal: ['unavailable', 503, 'UNAVAILABLE', RETRY],
  'handler-busy': ['busy', 409, 'BUSY', RETRY],
  'handler-failed': ['failed', 500, 'HANDLER_FAILED', {}],
  'handler-timeout': ['timeout', 503, 'TIMEOUT', RETRY],
  'handler-late': ['timeout', 503, 'TIMEOUT', RETRY],
  'handler-lost': ['failed', 500, 'HANDLER_FAILED', {}],
  'not-passed-on': ['failed', 500, 'HANDLER_FAILED', {}],
  'not-passed-on-in-time': ['unavailable', 503, 'UNAVAILABLE', RETRY],
  'inbox-failing': ['unavailable', 503, 'UNAVAILABLE', RETRY],
};

const rows = Object.entries(TABLE).map(([reason, row]) => [reason as Reason, ...row] as const);

describe('a refusal', () => {
  it.each(rows)('for %s is %s and answers %i %s', (reason, kind, status, code, headers) => {
    expect(errorOutcome(reason)).toEqual({
      kind,
      reason,
      status,
      code,
      headers,
      body: { error: { code, message: expect.any(String), request_id: expect.stringMatching(UUID) } },
    });
  });

  it.each(rows)('for %s has a message that is a sentence, and the one of its reason only', (reason) => {
    const { message } = errorOutcome(reason).body.error;
    expect(message).toMatch(/^[A-Z].{10,}\.$/);
    expect(rows.filter(([other]) => errorOutcome(other).body.error.message === message)).toHaveLength(1);
  });

  it('has a request id of its own each time', () => {
    const ids = Array.from({ length: 100 }, () => errorOutcome('overloaded').body.error.request_id);
    expect(new Set(ids).size).toBe(100);
  });

  it('carries details where there are some, in the shape of interface 7.2, and no key for them elsewhere', () => {
    const details = [{ field: 'id', message: 'id must be a string' }];
    expect(errorOutcome('not-an-event', details).body.error.details).toEqual(details);
    expect(Object.keys(errorOutcome('not-an-event').body.error)).toEqual(['code', 'message', 'request_id']);
  });

  it('tells a client to come back whenever it is unavailable for the moment, and never when it was rejected', () => {
    for (const [reason, kind, status] of rows) {
      expect('Retry-After' in errorOutcome(reason).headers).toBe(kind !== 'rejected' && status !== 500);
    }
  });

  it('survives JSON as it is', () => {
    const { body } = errorOutcome('not-an-event', [{ field: '', message: 'the body is not valid JSON' }]);
    expect(JSON.parse(JSON.stringify(body))).toEqual(body);
  });
});

/** No line in the log, or one of another kind. */
const NOT_LOGGED: ReadonlySet<Reason> = new Set([
  'handler-late',
  'body-incomplete',
  'handler-busy',
  'handler-failed',
  'handler-timeout',
  'handler-lost',
]);

it('docs/answers.md has each reason that is logged, with its answer', () => {
  const logged = rows.filter(([reason]) => !NOT_LOGGED.has(reason));
  const documented = Object.fromEntries(rowsUnder('Rejections'));
  const expected = logged.map(([reason, , status, code]) => [`\`${reason}\``, `\`${status} ${code}\``]);
  expect(documented).toEqual(Object.fromEntries(expected));
});
