import { describe, expect, test } from 'vitest';
import { isPrintable, oneLine, printableJson, printableLines, replaceUnprintable } from '../src/printable.ts';

describe('texts that others wrote', () => {
  test('neither begin another line nor turn their neighbours around', () => {
    expect(oneLine('a\nb\u0000c\u202Ed\u2028e\u200Bf')).toBe('a\\u{a}b\\u{0}c\\u{202e}d\\u{2028}e\\u{200b}f');
  });

  test.for([
    ['\u061c', '\\u{61c}'],
    ['\u200e', '\\u{200e}'],
    ['\u2066', '\\u{2066}'],
    ['\u0085', '\\u{85}'],
    ['\u00ad', '\\u{ad}'],
    ['\u2060', '\\u{2060}'],
    ['\u3164', '\\u{3164}'],
    ['\u200d', '\\u{200d}'],
    ['\ufe0f', '\\u{fe0f}'],
    ['\u{e0041}', '\\u{e0041}'],
  ] as const)('show %j, which nobody would see', ([hidden, shown]) => {
    expect(oneLine(`evt_${hidden}1`)).toBe(`evt_${shown}1`);
    // In JSON it stays what it is.
    const json = printableJson(JSON.stringify({ text: hidden }));
    expect(json).toMatch(/^[ -~]+$/);
    expect(JSON.parse(json)).toEqual({ text: hidden });
  });

  test.for(['👩‍💻 ❤️ 👍🏽', 'می‌خواهم', 'क्‍ष', 'Zoë 山 é'])('stay as they are where all is seen: %s', (text) => {
    expect(oneLine(text)).toBe(text);
    expect(printableJson(text)).toBe(text);
    expect(isPrintable(`${text}\r\n\t${text}`)).toBe(true);
  });

  test('of several lines are told from such that steer a terminal', () => {
    for (const text of ['a\rb', 'a\u001b[2J', 'a\u009bb', '\ufeffa', 'a\u202eb']) expect(isPrintable(text)).toBe(false);
  });

  test('keep their lines and tabs where they are shown as they stand', () => {
    expect(printableLines('a\r\n\tb\u202ec\u00add')).toBe('a\\u{d}\n\tb\\u{202e}c\\u{ad}d');
    expect(replaceUnprintable('a\u0007\u{e0041}b', () => '-')).toBe('a--b');
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
