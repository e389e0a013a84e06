import { usageError } from './exit.ts';

/**
 * The URL to deliver to. Only this machine, unless the user has said otherwise: events made up or replayed by mistake must
 * not reach a live shop.
 *
 * @throws CommandError for a URL that cannot be used
 */
export function targetOf(text: string, allowRemote: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${JSON.stringify(text)} is no http or https URL.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('The URL carries a user name or a password. Leave them out: URLs end up in logs.');
  }
  if (!allowRemote && !isLoopback(url.hostname)) {
    throw usageError(`${url.host} is not this machine. Add --allow-remote if you mean it.`);
  }
  return url;
}

/** Whether a host name leads to this machine. Names beneath `localhost` are asked of DNS, which may say anything. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
