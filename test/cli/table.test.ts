import { describe, expect, it, vi } from 'vitest';
import { growingTable } from '../../src/cli/shared/table.ts';

function printed(work: () => void): readonly string[] {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    work();
    return write.mock.calls
      .map(([text]) => String(text))
      .join('')
      .split('\n')
      .slice(0, -1);
  } finally {
    write.mockRestore();
  }
}

describe('a table that grows', () => {
  it('has one head, and columns that widen where a row needs it', () => {
    const lines = printed(() => {
      const print = growingTable(['id', 'why']);
      print([['a', { text: 'red', style: 'red' }]]);
      print([['longer', '']]);
      print([['b', 'x']]);
    });
    expect(lines).toEqual(['id  why', '--  ---', 'a   red', 'longer', 'b       x']);
  });

  it('cuts the last column where the line ends, and leaves something of it', () => {
    const long = 'x'.repeat(50);
    expect(printed(() => growingTable(['id', 'why'], 30)([['a', long]]))).toEqual([
      'id  why',
      `--  ${'-'.repeat(26)}`,
      `a   ${'x'.repeat(25)}…`,
    ]);
    expect(printed(() => growingTable(['id', 'why'], 5)([['a', long]])).at(-1)).toBe(`a   ${'x'.repeat(15)}…`);
  });
});
