import { describe, expect, it } from 'vitest';
import { whyNoPath } from '../../src/host/files.ts';
import { ConfigurationError } from '../../src/errors.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createSandbox } from '../../src/sandbox/index.ts';

const refused: readonly [string, RegExp][] = [
  ['', /is empty/],
  [' ', /is empty/],
  ['file:x.db', /starts with file:.*\.\/file:/],
  ['FILE:x.db?mode=rwc', /starts with FILE:/],
  ['sqlite:x.db', /starts with sqlite:/],
  ['sqlite3:x.db', /starts with sqlite3:/],
  ['better-sqlite3:x.db', /starts with better-sqlite3:/],
  ['libsql:x.db', /starts with libsql:/],
  ['jdbc:sqlite:x.db', /starts with jdbc:/],
  ['sqlite://user:pass@x.db', /is a URL/],
  ['file:///data/x.db', /is a URL/],
  ['${HOOKBOX_DB}', /variable that was not replaced/],
  ['/data/${NAME}.db', /variable that was not replaced/],
  ['$HOME/hookbox.db', /variable that was not replaced/],
  ['%APPDATA%\\hookbox.db', /variable that was not replaced/],
  ['{{ db }}', /variable that was not replaced/],
  ['<path>', /variable that was not replaced/],
  ['undefined', /“undefined” or “null”/],
  ['null', /“undefined” or “null”/],
  ['NaN', /“undefined” or “null”/],
  ['[object Object]', /“undefined” or “null”/],
  ['undefined/hookbox.db', /“undefined” or “null”/],
  ['/data/undefined.db', /“undefined” or “null”/],
  ['C:\\data\\null', /“undefined” or “null”/],
  ['hookbox.db\n', /space or a line break/],
  [' hookbox.db', /space or a line break/],
];

describe('a text that was not meant for the path of a file', () => {
  it.each(refused)('%j', (path, why) => {
    expect(whyNoPath(path)).toMatch(why);
    const open = () => sqliteInbox(path);
    expect(open).toThrow(ConfigurationError);
    expect(open).toThrow(why);
    expect(open).not.toThrow('user:pass');
  });

  it('opens no sandbox either', () => {
    expect(() => createSandbox({ file: 'undefined' })).toThrow(/“undefined” or “null”/);
  });
});

it.each([
  'hookbox.db',
  './file:x.db',
  '/data/hookbox.db',
  'C:\\shop\\hookbox.db',
  '%20?mode=memory.db',
  'cash$box.db',
  'undefined-orders.db',
  'nullable/x.db',
  'a b.db',
  'prix en €.db',
  ':memory:',
])('%j may be one', (path) => {
  expect(whyNoPath(path)).toBeNull();
});
