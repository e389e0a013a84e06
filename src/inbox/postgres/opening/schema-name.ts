import { ConfigurationError } from '../../../errors.ts';

/** Names are cut to that by Postgres. */
const MOST_OF_A_NAME = 63;

/** @throws ConfigurationError `INVALID_OPTION` */
export function assertSchema(schema: unknown): void {
  const bytes = typeof schema === 'string' ? Buffer.byteLength(schema) : 0;
  if (bytes > 0 && bytes <= MOST_OF_A_NAME && !String(schema).includes('\0')) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `schema must be a name of 1 to ${MOST_OF_A_NAME} bytes, not ${typeof schema === 'string' ? `one of ${bytes}` : typeof schema}.`,
  );
}
