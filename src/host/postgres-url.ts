/** The schema that is meant where none is named. */
export const USUAL_SCHEMA = 'hookbox';

/** Whether an inbox in Postgres is meant, and no file. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** Whether a text was meant for a URL, of whatever kind and in whatever quotes: then it may have a password in it. */
export function isUrl(text: string): boolean {
  return text.includes('://');
}

const BEFORE_HOST = [
  // A password in a URL of Postgres may have a space that is not escaped.
  /\b(postgres(?:ql)?:\/\/?)(?:(?!: )[^\n\0])*@/gi,
  // Also where a path was made of it, which has one slash left.
  /\b(?!file:)([a-z][\w+.-]+:\/\/?)[^\s\0]*@/gi,
];
const PARAMETERS = /([?&](?:user|\w*password)=)[^\s&"'\0]*/gi;

/** A text without the users and passwords of the URLs in it, for what repeats something that was given in a wrong place. */
export function withoutPasswords(text: string): string {
  if (!/:\//.test(text)) return text;
  return BEFORE_HOST.reduce((left, url) => left.replace(url, '$1…@'), text).replace(PARAMETERS, '$1…');
}

/**
 * What names an inbox, for people to read: a file as it is, of a URL the server and the database. The user, the
 * password and the parameters, of which one may be a password, are nobody's business.
 */
export function shownDatabase(name: string): string {
  if (!isPostgresUrl(name)) return isUrl(name) ? '…://…' : name;
  if (!URL.canParse(name) || isMisread(name)) return 'postgres://…';
  const url = new URL(name);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** Whether a password that is not escaped as it must be seems to have made other parts of a URL of Postgres than were meant. */
export function isMisread(name: string): boolean {
  if (!isPostgresUrl(name) || !URL.canParse(name)) return false;
  const { pathname, search, hash } = new URL(name);
  return /[@#]/.test(pathname + search + hash);
}

/** What is said to who has such a URL. */
export const TO_BE_ESCAPED = 'In the password, write @ / # ? % and space as %40 %2F %23 %3F %25 %20';
