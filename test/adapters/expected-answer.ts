import { expect } from 'vitest';
import type { AnswerCode } from '../../src/index.ts';
import type { Answer } from './wire.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The 200 of docs/answers.md, to the letter. */
export function expectAccepted(answer: Answer, { id, duplicate }: { id: string; duplicate: boolean }): void {
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(json(answer.body)).toEqual({ received: true, duplicate, id });
}

export interface ExpectedError {
  readonly status: number;
  readonly code: AnswerCode;
  /** `Retry-After` is there exactly when the table says so */
  readonly retryAfter?: boolean;
  readonly details?: readonly { readonly field: string; readonly message: unknown }[];
}

/** An error answer in the shape of interface 7.2, with nothing in it that is not in the shape. */
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
  /** `Connection: close` is there exactly when the table says so */
  readonly closes?: boolean;
}

/** An error answer that says the right thing of the connection too, which not every server lets through. */
export function expectRefused(answer: Answer, { closes, ...error }: ExpectedRefusal): void {
  expectError(answer, error);
  expect(saysClose(answer)).toBe(closes ?? false);
}

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
