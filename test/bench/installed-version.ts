import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** The version of an installed package. Read from its folder, because most packages do not export their manifest. */
export function installedVersion(name: string): string {
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(manifest, 'utf8'))).version;
}
