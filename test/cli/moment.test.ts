import { describe, expect, it } from 'vitest';
import { momentOf } from '../../src/cli/shared/time-option.ts';

const NOW = Date.parse('2026-03-14T03:59:07.250Z');

describe('a moment of the command', () => {
  it.each([
    ['2h', '2026-03-14T01:59:07.250Z'],
    ['2026-03-14', '2026-03-14T00:00:00.000Z'],
    // As the page writes it.
    ['2026-03-14 03:00:09 UTC', '2026-03-14T03:00:09.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(momentOf('--since', text, NOW).toISOString()).toBe(expected);
  });

  it.each(['yesterday', '2026-02-30', '999999999d', '99999999999999d'])('%s is none', (text) => {
    expect(() => momentOf('--since', text, NOW)).toThrow(`--since "${text}" is no time.`);
  });
});
