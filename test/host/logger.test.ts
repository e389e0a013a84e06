import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { consoleLogger, throttle } from '../../src/host/logger.ts';

describe('the console logger', () => {
  const lines: { readonly method: string; readonly text: string }[] = [];

  beforeEach(() => {
    lines.length = 0;
    for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
      vi.spyOn(console, method).mockImplementation((...args: unknown[]) => {
        lines.push({ method, text: args.join(' ') });
      });
    }
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('writes warnings and errors, each under the name of hookbox with its facts', () => {
    consoleLogger.warn({ reason: 'signature-mismatch', status: 401 }, 'delivery rejected');
    consoleLogger.error({ cause: 'disk full' }, 'delivery not stored');
    expect(lines).toEqual([
      { method: 'warn', text: 'hookbox: delivery rejected (reason=signature-mismatch, status=401)' },
      { method: 'error', text: 'hookbox: delivery not stored (cause=disk full)' },
    ]);
  });

  it('writes no brackets where there are no facts', () => {
    consoleLogger.error({}, 'the secret provider returned no secret');
    expect(lines).toEqual([{ method: 'error', text: 'hookbox: the secret provider returned no secret' }]);
  });

  it('keeps quiet about what is merely informative', () => {
    consoleLogger.info({ id: 'evt_1' }, 'stored');
    expect(lines).toEqual([]);
  });

  it('writes what handlers say on one line, too, without orders to the terminal', () => {
    const id = 'evt_\n\u001b[31m\u009b2J\u202e\u200b';
    consoleLogger.warn({ [`of ${id}`]: id }, `looked at ${id}`);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.text).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u200b]/u);
    expect(lines[0]?.text.match(/evt_\\u\{a\}/g)).toHaveLength(3);
  });

  it.each(['\n', '\r\n', '\u001B[2K\r'])(
    'writes a line each: a fact that holds %j cannot begin another one',
    (breaking) => {
      consoleLogger.error({ id: `evt_1${breaking}hookbox: all is well` }, 'the entity option threw');
      expect(lines).toHaveLength(1);
      expect(lines[0]?.text).toContain('evt_1');
      expect(lines[0]?.text).not.toMatch(/\p{Cc}/u);
    },
  );
});

describe('throttle', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function recorded(everyMs?: number) {
    const through: [string, number][] = [];
    const seldom = throttle(everyMs);
    return { through, say: (kind: string) => seldom(kind, (suppressed) => through.push([kind, suppressed])) };
  }

  it('lets the first line through at once, with nothing left out', () => {
    const { through, say } = recorded();
    say('a');
    expect(through).toEqual([['a', 0]]);
  });

  it('lets one line through in ten seconds, with the number left out in between', () => {
    const { through, say } = recorded();
    for (let ms = 0; ms < 30_000; ms += 100) {
      say('a');
      vi.advanceTimersByTime(100);
    }
    expect(through).toEqual([
      ['a', 0],
      ['a', 99],
      ['a', 99],
    ]);
  });

  it('goes by the time since the last line that went through', () => {
    const { through, say } = recorded();
    say('a');
    vi.advanceTimersByTime(9_999);
    say('a');
    expect(through).toHaveLength(1);
    vi.advanceTimersByTime(1);
    say('a');
    expect(through).toEqual([
      ['a', 0],
      ['a', 1],
    ]);
  });

  it('counts each kind by itself, so that a flood of one hides no other', () => {
    const { through, say } = recorded();
    for (let count = 0; count < 1_000; count += 1) say('flood');
    say('rare');
    expect(through).toEqual([
      ['flood', 0],
      ['rare', 0],
    ]);
  });

  it('takes another interval', () => {
    const { through, say } = recorded(100);
    say('a');
    vi.advanceTimersByTime(100);
    say('a');
    expect(through).toHaveLength(2);
  });

  it('is kept apart from every other throttle', () => {
    const [one, other] = [recorded(), recorded()];
    one.say('a');
    other.say('a');
    expect([...one.through, ...other.through]).toHaveLength(2);
  });
});
