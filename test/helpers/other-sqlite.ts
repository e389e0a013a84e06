import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** A second SQLite for this process, as the option `nativeBinding` of better-sqlite3 takes it. */
export function otherBinding(folder: string): string {
  const { sharedObjects } = process.report.getReport() as { readonly sharedObjects: readonly string[] };
  const loaded = sharedObjects.find((file) => /better-sqlite3.*\.node$/.test(file));
  if (loaded === undefined) throw new Error('better-sqlite3 is not loaded');
  const copy = join(folder, 'other.node');
  copyFileSync(loaded, copy);
  return copy;
}

/** The ids of the events in a file, as another process sees it that opens the file and closes it. */
export function seenByAnotherProcess(file: string): readonly string[] {
  const script = `
    const database = new (require('better-sqlite3'))(process.argv[1]);
    console.log(JSON.stringify(database.prepare('SELECT id FROM hookbox_events ORDER BY seq').pluck().all()));
    database.close();`;
  return z
    .array(z.string())
    .parse(JSON.parse(execFileSync(process.execPath, ['-e', script, file], { encoding: 'utf8' })));
}
