import { describe, expect, it } from 'vitest';
import { timeOption } from '../../src/cli/shared/options.ts';

const NOW = Date.parse('2026-03-14T03:59:07.250Z');

describe('a time of the command', () => {
  it.each([
    ['2h', '2026-03-14T01:59:07.250Z'],
    ['1h 30m', '2026-03-14T02:29:07.250Z'],
    ['2026-03-14', '2026-03-14T00:00:00.000Z'],
    // As the page writes it.
    ['2026-03-14 03:00:09 UTC', '2026-03-14T03:00:09.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(timeOption('--since', text, NOW).toISOString()).toBe(expected);
  });

  it.each(['yesterday', '2026-02-30', '0', '5', '999999999d', '99999999999999d'])('%s is none', (text) => {
    expect(() => timeOption('--since', text, NOW)).toThrow(`--since "${text}" must be a time`);
  });
});
