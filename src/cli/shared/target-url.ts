import { usageError } from './exit.ts';

/**
 * The URL to deliver to. Only this machine, unless the user has said otherwise: events made up or replayed by mistake
 * must not reach a live shop. `localhost:3000/webhooks` is one with http, as in a browser and for curl.
 *
 * @throws CommandError for a URL that cannot be used
 */
export function targetOf(text: string, allowRemote: boolean): URL {
  const whole = withScheme(text);
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usageError(`${JSON.stringify(text)} is not an http or https URL.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('The URL must not contain a user name or password, because URLs end up in logs.');
  }
  if (!allowRemote && !isLoopback(url.hostname)) {
    throw usageError(`${url.host} is another machine. Add --allow-remote to allow it.`);
  }
  return url;
}

/** A URL as it was typed, with http where only a host and its port are given. */
export function withScheme(text: string): string {
  return HOST_AND_PORT.test(text) ? `http://${text}` : text;
}

/** Without a port it may be anything, such as the name of a file; for `URL` the host would be a scheme. */
const HOST_AND_PORT = /^(?:[\w.-]+|\[[\da-f:.]+\]):\d+(?:[/?#]|$)/i;

/** Whether a host name leads to this machine. Names beneath `localhost` are asked of DNS, which may say anything. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}
