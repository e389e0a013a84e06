import { describe, expect, test } from 'vitest';
import { oneLine } from '../src/one-line.ts';

describe('texts that others wrote', () => {
  test('neither begin another line nor turn their neighbours around', () => {
    expect(oneLine('a\nb\u0000c\u202Ed\u2028e\u200Bf')).toBe('a\\u{a}b\\u{0}c\\u{202e}d\\u{2028}e\\u{200b}f');
  });

  test('are cut, but not through a character', () => {
    expect(oneLine('12345', 5)).toBe('12345');
    expect(oneLine('123456', 5)).toBe('12345…');
    expect(oneLine('1234🔥', 5)).toBe('1234…');
  });

  test('half a character is shown as one', () => {
    expect(oneLine('a\ud800b')).toBe('a\\u{d800}b');
  });
});
