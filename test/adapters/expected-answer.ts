import { expect } from 'vitest';
import type { AnswerCode } from '../../src/index.ts';
import type { Answer } from './wire.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** docs/answers.md, to the letter. */
export function expectAccepted(answer: Answer, { id }: { readonly id: string }): void {
  expectReceived(answer, { received: true, duplicate: false, id });
}

export function expectDuplicate(answer: Answer, { id }: { readonly id: string }): void {
  expectReceived(answer, { received: true, duplicate: true, id });
}

function expectReceived(answer: Answer, body: object): void {
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(json(answer.body)).toEqual(body);
}

export interface ExpectedError {
  readonly status: number;
  readonly code: AnswerCode;
  readonly retryAfter?: boolean;
  readonly details?: readonly { readonly field: string; readonly message: unknown }[];
}

/** Interface 7.2, and no other field. */
export function expectError(answer: Answer, { status, code, retryAfter, details }: ExpectedError): void {
  expect(answer).toMatchObject({ status });
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(json(answer.body)).toEqual({
    error: {
      code,
      message: expect.stringMatching(/\S{2,} .+\.$/),
      request_id: expect.stringMatching(UUID),
      ...(details && { details }),
    },
  });
  expect(answer.headers.has('retry-after')).toBe(retryAfter ?? false);
  if (retryAfter === true) expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

export interface ExpectedRefusal extends ExpectedError {
  readonly closes?: boolean;
}

/** Some servers do not pass the header `Connection` on. */
export function expectRefused(answer: Answer, { closes, ...error }: ExpectedRefusal): void {
  expectError(answer, error);
  expect(saysClose(answer)).toBe(closes ?? false);
}

export const INVALID_SIGNATURE = { status: 401, code: 'INVALID_SIGNATURE' } as const;
export const METHOD_NOT_ALLOWED = { status: 405, code: 'METHOD_NOT_ALLOWED' } as const;
export const BUSY = { status: 409, code: 'BUSY', retryAfter: true } as const;
export const BODY_TOO_LARGE = { status: 413, code: 'BODY_TOO_LARGE', closes: true } as const;
export const UNSUPPORTED_ENCODING = { status: 415, code: 'UNSUPPORTED_ENCODING' } as const;
export const BODY_CONSUMED = { status: 500, code: 'BODY_CONSUMED' } as const;
export const HANDLER_FAILED = { status: 500, code: 'HANDLER_FAILED' } as const;
export const UNAVAILABLE = { status: 503, code: 'UNAVAILABLE', retryAfter: true } as const;
export const TIMEOUT = { status: 503, code: 'TIMEOUT', retryAfter: true } as const;

export function saysClose({ headers }: Answer): boolean {
  const options = headers
    .get('connection')
    ?.toLowerCase()
    .split(/\s*,\s*/);
  return options?.includes('close') ?? false;
}

function json(text: string): unknown {
  return JSON.parse(text);
}
