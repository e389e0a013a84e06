import { describe, expect, it } from 'vitest';
import { ASSUMPTIONS, DEFAULT_ASSUMPTIONS } from '../../src/sandbox/assumptions.ts';
import { ERROR_CODES } from '../../src/sandbox/errors.ts';
import { COMMON_ERRORS, OPERATION_NAMES, OPERATIONS, type Operation } from '../../src/sandbox/service-operations.ts';

const ALL: readonly Operation[] = OPERATION_NAMES.map((name) => OPERATIONS[name]);

describe('the table of the operations', () => {
  it('has the twelve of section 4, in its order', () => {
    expect(ALL.map(({ title, method, path, body }) => [title, method, path, body !== undefined])).toEqual([
      ['Create Cart', 'POST', '/cart', true],
      ['Get Cart Details', 'GET', '/cart/{id}', false],
      ['Update Cart', 'PUT', '/cart/{id}', true],
      ['Add Cart Item', 'POST', '/cart/{id}/item', true],
      ['Update Cart Item', 'PUT', '/cart/{cartId}/item/{itemId}', true],
      ['Create Order', 'POST', '/order', true],
      ['Submit Order', 'POST', '/order/{orderId}/submit', true],
      ['Create Setup Intent', 'POST', '/payment-method/setup-intent', true],
      ['List Payment Methods', 'GET', '/payment-method', false],
      ['List Merchants', 'GET', '/merchant', false],
      ['Get Category Details', 'GET', '/merchant/{merchantId}/category/{id}', false],
      ['Search products', 'GET', '/product', false],
    ]);
    expect(ALL.map(({ section }) => section)).toEqual(Array.from({ length: 12 }, (_, at) => `4.${at + 1}`));
  });

  it('has every code of 7.3 somewhere, at its status', () => {
    const named = new Set([...COMMON_ERRORS, ...ALL.flatMap(({ errors }) => errors)]);
    const statuses = Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status] as const);
    expect([...named].toSorted()).toEqual(statuses.map(([code]) => code).toSorted());
    expect(Object.fromEntries(statuses)).toEqual({
      INVALID_API_KEY: 401,
      INSUFFICIENT_PERMISSIONS: 403,
      VALIDATION_ERROR: 422,
      MISSING_REQUIRED_FIELD: 400,
      RESOURCE_NOT_FOUND: 404,
      RESOURCE_CONFLICT: 409,
      INSUFFICIENT_INVENTORY: 422,
      PAYMENT_FAILED: 422,
      RATE_LIMIT_EXCEEDED: 429,
    });
  });

  it('each value that may be set belongs to one assumption, and each assumption says what it is', () => {
    expect(Object.keys(ASSUMPTIONS)).toEqual(Array.from({ length: 12 }, (_, at) => `A${at + 1}`));
    const values = Object.values(ASSUMPTIONS).flatMap((assumption) => assumption.values);
    expect(values.toSorted()).toEqual(Object.keys(DEFAULT_ASSUMPTIONS).toSorted());
    for (const { decision } of Object.values(ASSUMPTIONS)) expect(decision).toMatch(/^[A-Z0-9].*\.$/i);
  });
});
