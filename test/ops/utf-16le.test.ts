// @module-tag longest
import Database from 'better-sqlite3';
import { expect, test, vi } from 'vitest';
import { encodedFolders } from '../inbox/utf-16-folder.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

vi.mock('../helpers/scratch-folder.ts', async (original) => encodedFolders('UTF-16le', await original()));

// What is found, erased, pruned and grouped in a file of UTF-8 is so in a merchant's file of UTF-16, too.
import './erase.test.ts';
import './find.test.ts';
import './fingerprint.test.ts';
import './prune.test.ts';
import './search.test.ts';

test('these files are in UTF-16le', () => {
  const database = new Database(scratchFile());
  expect(database.pragma('encoding', { simple: true })).toBe('UTF-16le');
  database.close();
});
