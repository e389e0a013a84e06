/** OpenSSL's reasons where what answers is no TLS: its text is no record of it, or too long a one. */
const NO_TLS = /wrong version number|packet length too long/;

/**
 * What went wrong with a connection, in a few words, where the system's own say little or are those of a library; `null` for
 * anything else.
 */
export function connectionWords({ code, message }: NodeJS.ErrnoException): string | null {
  if (code === 'ECONNREFUSED') return 'the connection was refused';
  // A socket says the one, and a request that has written to it meanwhile the other.
  const isTls = code === 'EPROTO' || code?.startsWith('ERR_SSL_') === true;
  return isTls && NO_TLS.test(message) ? 'the server uses http, not https' : null;
}
