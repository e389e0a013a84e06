import { createRequire } from 'node:module';
import { freePort } from '../../helpers/free-port.ts';
import { part } from '../../helpers/parts.ts';

export interface Prism extends AsyncDisposable {
  readonly base: string;
}

interface PrismCommand {
  readonly createSingleProcessPrism: (options: object) => Promise<{ close(): Promise<void> }>;
}

interface Console {
  disable(): void;
}

const host = '127.0.0.1';

/**
 * What `prism proxy` starts, in this process: the command takes a second of the processor to load, each time, and writes a
 * log that nobody reads.
 *
 * @param file - the document
 * @param errors - has it answer itself where something does not fit, and hold back requests
 */
export async function prismBefore(upstream: string, file: string, { errors = false } = {}): Promise<Prism> {
  const requireAsPrism = createRequire(part('@stoplight/prism-cli/package.json'));
  (requireAsPrism('signale') as Console).disable();
  const { createSingleProcessPrism } = requireAsPrism('./dist/util/createServer.js') as PrismCommand;
  const port = await freePort();
  const asCommand = { cors: true, validateRequest: true, verboseLevel: 'silent' };
  const at = { document: file, upstream: new URL(upstream), host, port };
  const server = await createSingleProcessPrism({ ...asCommand, ...at, errors });
  return { base: `http://${host}:${port}`, [Symbol.asyncDispose]: () => server.close() };
}
