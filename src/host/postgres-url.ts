/** Whether an inbox in Postgres is meant, and no file. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/**
 * What names an inbox, for people to read: a file as it is, of a URL the server and the database. The user, the password and the
 * parameters, of which one may be a password, are nobody's business.
 */
export function shownDatabase(name: string): string {
  if (!isPostgresUrl(name)) return name;
  const url = URL.canParse(name) ? new URL(name) : null;
  // A password that is not escaped as it must be makes other parts of a URL than it seems to have.
  if (url === null || /[@#]/.test(url.pathname + url.search + url.hash)) return 'postgres://…';
  return `${url.protocol}//${url.host}${url.pathname}`;
}
