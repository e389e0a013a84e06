import { describe, expect, it, vi, onTestFinished } from 'vitest';
import { print, printBytes, printJson, printNdjson, styled, tell, tellFailure } from '../../src/cli/shared/output.ts';
import { table } from '../../src/cli/shared/table.ts';
import { pruneEvents } from '../../src/ops/index.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { handled } from '../ops/events-in-states.ts';

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

function writtenTo(stream: NodeJS.WriteStream, work: () => void): string {
  const write = vi.spyOn(stream, 'write').mockReturnValue(true);
  try {
    work();
    return write.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    write.mockRestore();
  }
}

const HOSTILE = '\u001b[31mred\u001b]0;title\u0007\u009b2J\u202e\u200b\r\nsecond';

describe('what is printed for people', () => {
  it.each([
    ['print', print, process.stdout],
    ['tell', tell, process.stderr],
  ] as const)('%s has a line for each of its own, and none of what stands in them', (_name, say, stream) => {
    const written = writtenTo(stream, () => say(`id ${HOSTILE}`, ['a', HOSTILE], ''));
    expect(written.split('\n')).toHaveLength(5);
    expect(written).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}\u200b]/u);
    expect(written).toContain('\\u{1b}[31mred');
  });

  it('lets styles of its own pass, and no others', () => {
    vi.stubEnv('FORCE_COLOR', '1');
    vi.stubEnv('NO_COLOR', undefined);
    const written = writtenTo(process.stdout, () => print(`${styled('red', HOSTILE)} \u001b[31mnot styled\u001b[39m`));
    vi.unstubAllEnvs();
    expect(written.startsWith('\u001b[31m\\u{1b}[31mred')).toBe(true);
    expect(written.split('\u001b[31m')).toHaveLength(2);
    expect(written.split('\u001b[39m')).toHaveLength(2);
    expect(written).toContain('\\u{1b}[31mnot styled\\u{1b}[39m\n');
  });

  it('takes a million lines', () => {
    const lines = Array.from({ length: 1_000_000 }, () => '1');
    expect(writtenTo(process.stdout, () => print(lines))).toHaveLength(2_000_000);
  });

  it('is cut and padded as wide as it is shown', () => {
    const written = writtenTo(process.stdout, () =>
      table(
        ['id', 'state'],
        [
          ['a\nb', 'dead'],
          ['abcdef', 'new'],
        ],
      ),
    );
    expect(written.split('\n').slice(2, 4)).toEqual(['a\\u{a}b  dead', 'abcdef   new']);
  });
});

describe('bytes', () => {
  const onTerminal = (isTTY: boolean, bytes: Uint8Array): string => {
    const before = process.stdout.isTTY;
    process.stdout.isTTY = isTTY;
    try {
      return writtenTo(process.stdout, () => printBytes(bytes));
    } finally {
      process.stdout.isTTY = before;
    }
  };

  it('stay as they are in a pipe, and do not steer a terminal', () => {
    const bytes = Buffer.from(`{"id":"${HOSTILE}"}`);
    expect(onTerminal(false, bytes)).toBe(bytes.toString());
    expect(() => onTerminal(true, bytes)).toThrow('control characters that would affect the terminal');
    expect(onTerminal(true, Buffer.from('{"id":\t"é"}\r\n'))).toBe('{"id":\t"é"}\r\n');
  });
});

function toldOf(failure: unknown): string {
  const { exitCode } = process;
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    written.mockRestore();
    process.exitCode = exitCode;
  });
  tellFailure(failure);
  return written.mock.calls.map(([text]) => String(text)).join('');
}

it('whoever prunes on a disk that is full is told to make room first', async () => {
  const database = merchantDatabase();
  await using inbox = sqliteInbox({ database });
  await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
  database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true }))}`);
  const fill = async (): Promise<void> => {
    for (let n = 0; ; n += 1) await store(inbox, orderEvent(`evt_${n}`));
  };
  await expect(fill()).rejects.toThrow('full');

  const by = { actor: 'ada', reason: 'the disk is full '.repeat(20) };
  const prune = async (): Promise<void> => {
    // The first ones may still find room on a page that is there.
    for (;;) await pruneEvents(inbox, { settledBefore: new Date() }, by);
  };
  const failure: unknown = await prune().catch((thrown: unknown) => thrown);
  expect(toldOf(failure)).toMatch(
    /error: database or disk is full \(SQLITE_FULL\)\. First free a few tens of megabytes on that disk \(delete logs or old exports\), or move the inbox to a larger disk\. Then prune events: pruning itself needs some free space\.\n$/,
  );
});

it('other failures of a database come without that advice', () => {
  const failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
  expect(toldOf(new Error('It failed', { cause: failure }))).toMatch(/error: It failed\n$/);
});
