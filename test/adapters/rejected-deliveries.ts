import { expect } from 'vitest';
import {
  BODY_TOO_LARGE,
  INVALID_SIGNATURE,
  METHOD_NOT_ALLOWED,
  UNSUPPORTED_ENCODING,
  type ExpectedRefusal,
} from './expected-answer.ts';
import { encodedDelivery, signed, signedEvent, signedEventOfSize } from '../helpers/signed-event.ts';
import type { RequestParts } from './wire.ts';

/** For a verifier with a limit of 1,000 bytes. */
export const REFUSED_DELIVERIES: readonly (readonly [
  what: string,
  parts: () => RequestParts,
  expected: ExpectedRefusal,
])[] = [
  ['an unsigned one', () => ({ body: signedEvent().body }), INVALID_SIGNATURE],
  ['a forged one', () => ({ body: signedEvent().body, headers: signedEvent().headers }), INVALID_SIGNATURE],
  [
    'one without an event',
    () => signed('[]'),
    { status: 400, code: 'INVALID_BODY', details: [{ field: '', message: expect.any(String) as unknown }] },
  ],
  ['one over the limit', () => signedEventOfSize(1_001), BODY_TOO_LARGE],
  ['an encoded one', () => encodedDelivery(), UNSUPPORTED_ENCODING],
  ['a PUT', () => ({ ...signedEvent(), method: 'PUT' }), METHOD_NOT_ALLOWED],
  ['a GET', () => ({ method: 'GET', framing: 'none' }), METHOD_NOT_ALLOWED],
];
