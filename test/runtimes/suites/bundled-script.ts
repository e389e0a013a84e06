import { fileURLToPath } from 'node:url';

/** Replaces `helpers/bundled-script.ts`. */
export async function bundledScript(script: URL): Promise<string> {
  return fileURLToPath(script);
}
