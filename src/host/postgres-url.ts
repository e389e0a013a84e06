export const USUAL_SCHEMA = 'hookbox';

export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** Such a text may contain a password. */
export function isUrl(text: string): boolean {
  return text.includes('://');
}

const BEFORE_HOST = [
  // A password may have a space that is not escaped.
  /\b(postgres(?:ql)?:\/\/?)(?:(?!: )[^\n\0])*@/gi,
  // A path that was made from a URL has only one slash.
  /\b(?!file:)([a-z][\w+.-]+:\/\/?)[^\s\0]*@/gi,
];
const PARAMETERS = /([?&](?:user|\w*password)=)[^\s&"'\0]*/gi;

export function withoutPasswords(text: string): string {
  if (!/:\//.test(text)) return text;
  return BEFORE_HOST.reduce((left, url) => left.replace(url, '$1…@'), text).replace(PARAMETERS, '$1…');
}

/** Without the user, the password and the parameters, which may contain a password. */
export function shownDatabase(name: string): string {
  if (!isPostgresUrl(name)) return isUrl(name) ? '…://…' : name;
  if (!URL.canParse(name) || isMisread(name)) return 'postgres://…';
  const url = new URL(name);
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** Characters that are not escaped in the password may have moved to other parts of the URL. */
export function isMisread(name: string): boolean {
  if (!isPostgresUrl(name) || !URL.canParse(name)) return false;
  const { pathname, search, hash } = new URL(name);
  return /[@#]/.test(pathname + search + hash);
}

export const TO_BE_ESCAPED = 'In the password, write @ / # ? % and space as %40 %2F %23 %3F %25 %20';
