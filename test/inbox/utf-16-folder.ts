import Database from 'better-sqlite3';
import { join } from 'node:path';

interface Folders {
  readonly ownFolder: () => Disposable & { readonly path: string };
  readonly scratchFolder: () => string;
  readonly scratchFile: (name?: string) => string;
}

/** Folders whose `shop.db`, and files that are a merchant's already: a database keeps the encoding that it began with. */
export function encodedFolders(encoding: 'UTF-16le' | 'UTF-16be', plain: Folders): Folders {
  const begin = (path: string): string => {
    const database = new Database(path);
    database.pragma(`encoding = '${encoding}'`);
    database.exec('CREATE TABLE of_the_merchant (id)');
    database.close();
    return path;
  };
  return {
    ...plain,
    ownFolder() {
      const folder = plain.ownFolder();
      begin(join(folder.path, 'shop.db'));
      return folder;
    },
    scratchFile: (name) => begin(plain.scratchFile(name)),
  };
}
