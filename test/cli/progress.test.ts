import { expect, it } from 'vitest';
import { progressBar } from '../../src/cli/shared/interruption.ts';

const ERASE_LINE = '\r\u{1b}[2K';

function terminal(isTTY = true) {
  const written: string[] = [];
  const stream = {
    isTTY,
    columns: 60,
    write(text: string) {
      written.push(text);
      return true;
    },
  };
  return { stream, written, lastLine: () => written.join('').split('\n').at(-1)?.split(ERASE_LINE).at(-1) };
}

it('comes for long work, and fits on one line', () => {
  let now = 0;
  const { stream, written, lastLine } = terminal();
  const progress = progressBar(stream, () => now);
  progress.show(0.1, 'too soon');
  expect(written).toEqual([]);
  now = 600;
  progress.show(0.5, '5 sent');
  expect(lastLine()).toBe('[============            ]  50% 5 sent');
  now = 650;
  progress.show(0.6, 'too soon after it');
  expect(lastLine()).toContain('5 sent');
  now = 700;
  progress.show(1, 'x'.repeat(100));
  expect(lastLine()).toHaveLength(59);
});

it('stays beneath what is printed, and goes away in the end', () => {
  let now = 0;
  const { stream, written, lastLine } = terminal();
  const progress = progressBar(stream, () => now);
  now = 1_000;
  progress.show(0.25, 'sending');
  progress.above(() => stream.write('a line\n'));
  expect(written.join('')).toContain(`${ERASE_LINE}a line\n[======`);
  progress.end();
  expect(lastLine()).toBe('');
});

it('has only a text where nobody knows how much there is to do', () => {
  let now = 0;
  const { stream, lastLine } = terminal();
  const progress = progressBar(stream, () => now);
  now = 1_000;
  progress.show(null, '500 events looked at');
  expect(lastLine()).toBe('500 events looked at');
});

it('draws nothing where there is no terminal', () => {
  let now = 0;
  const { stream, written } = terminal(false);
  const progress = progressBar(stream, () => now);
  now = 1_000;
  progress.show(0.5, 'sending');
  progress.above(() => stream.write('a line\n'));
  progress.end();
  expect(written).toEqual(['a line\n']);
});
