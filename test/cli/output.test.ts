import { describe, expect, it, vi } from 'vitest';
import { printJson, printNdjson } from '../../src/cli/output.ts';

describe('JSON output', () => {
  it.each([printJson, printNdjson])('%o escapes what steers a terminal, and stays the same JSON', (printing) => {
    const text = '\u001b \u007f \u009b2J \u202e \u2066 \u2028 é 山 😀';
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    let printed;
    try {
      printing({ text });
      printed = String(write.mock.calls[0]?.[0]);
    } finally {
      write.mockRestore();
    }
    expect(printed.trimEnd()).not.toMatch(/(?![\n ])[\p{Cc}\p{Bidi_Control}\p{Zl}]/u);
    expect(printed).toContain('é 山 😀');
    expect(JSON.parse(printed)).toEqual({ text });
  });
});
