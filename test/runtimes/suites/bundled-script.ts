import { fileURLToPath } from 'node:url';

/** In place of `helpers/bundled-script.ts`: what the suites start is bundled with them. */
export async function bundledScript(script: URL): Promise<string> {
  return fileURLToPath(script);
}
