import { ConfigurationError } from '../../errors.ts';

/**
 * `process.env['X']` that is not set must not become a password, or a key, that is known to all.
 *
 * @throws ConfigurationError that names the option
 */
export function usableSecret(secret: unknown, name: string): string {
  if (typeof secret === 'string' && secret.trim() !== '' && secret !== 'undefined' && secret !== 'null') return secret;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `${name} must not be empty, “undefined” or “null”. Check that its environment variable is set.`,
  );
}
