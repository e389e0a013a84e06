import type { Found } from './causes.ts';

/** A key that may have been used, and what that would say about the secret. */
export interface KeyVariant {
  readonly key: Buffer;
  /** `null` for the secret as it was given */
  readonly found: Found | null;
}

/** The secret as it stands, the old ones, and what usually happens to a secret on its way into a variable. */
export function keyVariants(secret: string, oldSecrets: readonly string[]): readonly KeyVariant[] {
  const variants: KeyVariant[] = [];
  const seen = new Set<string>();
  const add = (key: string | Buffer, found: Found | null): void => {
    const bytes = Buffer.from(key);
    const name = bytes.toString('latin1');
    if (seen.has(name)) return;
    seen.add(name);
    variants.push({ key: bytes, found });
  };

  add(secret, null);
  const old: Found = { cause: 'old-secret', what: 'the signature was computed with the old secret' };
  for (const one of oldSecrets) add(one, old);
  for (const one of oldSecrets) add(one.trim(), old);

  const trimmed = secret.trim();
  const inner = /^(["'`])(.*)\1$/s.exec(trimmed)?.[2];
  const usual = (cause: Found['cause'], what: string, ...keys: (string | Buffer)[]): void => {
    for (const key of keys) add(key, { cause, what });
  };
  usual('secret-white-space', 'your secret has white space around it', trimmed);
  usual(
    'secret-white-space',
    'the signature was computed with white space around the secret',
    ...['\n', '\r\n', ' ', '\r', '\t'].flatMap((space) => [trimmed + space, space + trimmed]),
    ` ${trimmed} `,
    `${trimmed}  `,
  );
  if (inner !== undefined) usual('secret-quotes', 'your secret has quotation marks around it', inner);
  usual(
    'secret-quotes',
    'the signature was computed with quotation marks around the secret',
    ...['"', "'", '`'].map((quote) => quote + trimmed + quote),
  );
  const assigned = /^(?:export\s+)?[A-Za-z_]\w*\s*=\s*["']?(.+?)["']?$/s.exec(trimmed)?.[1];
  if (assigned !== undefined && !trimmed.endsWith('=')) {
    usual('secret-prefix', 'your secret begins with the name of an environment variable', assigned);
  }
  addDecoded(trimmed, usual);
  usual(
    'secret-unset',
    'the signature was computed without a secret',
    'undefined',
    'null',
    'None',
    'nil',
    '',
    '$SIGNING_SECRET',
    '${SIGNING_SECRET}',
  );
  return variants;
}

function addDecoded(
  secret: string,
  usual: (cause: Found['cause'], what: string, ...keys: (string | Buffer)[]) => void,
): void {
  const bytes = Buffer.from(secret);
  const hex = (text: string): Buffer[] => (/^([0-9a-f]{2})+$/i.test(text) ? [Buffer.from(text, 'hex')] : []);
  const base64 = (text: string): Buffer[] =>
    /^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(text) ? [Buffer.from(text, 'base64')] : [];

  usual('secret-encoding', 'the signature was computed with the secret decoded from hexadecimal', ...hex(secret));
  usual('secret-encoding', 'the signature was computed with the secret decoded from base64', ...base64(secret));
  const bare = /^[A-Za-z]{1,12}_(.+)$/s.exec(secret)?.[1];
  if (bare !== undefined) {
    usual('secret-prefix', 'the signature was computed with the secret without its prefix', bare);
    usual(
      'secret-encoding',
      'the signature was computed with the decoded base64 that follows the prefix of the secret',
      ...base64(bare),
    );
    usual(
      'secret-encoding',
      'the signature was computed with the decoded hexadecimal digits that follow the prefix of the secret',
      ...hex(bare),
    );
  }
  usual(
    'secret-prefix',
    'the signature was computed with a secret that still has its prefix whsec_',
    `whsec_${secret}`,
  );
  usual(
    'secret-encoding',
    'the signature was computed with the secret written in hexadecimal',
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  );
  usual(
    'secret-encoding',
    'the signature was computed with the secret written in base64',
    bytes.toString('base64'),
    bytes.toString('base64url'),
  );
  usual('secret-encoding', 'the signature was computed with the secret in UTF-16', Buffer.from(secret, 'utf16le'));
  usual('secret-encoding', 'the signature was computed with the secret in Latin-1', Buffer.from(secret, 'latin1'));
  usual('secret-encoding', 'the signature was computed with the secret in lowercase', secret.toLowerCase());
  usual('secret-encoding', 'the signature was computed with the secret in uppercase', secret.toUpperCase());
  usual(
    'secret-encoding',
    'one side has a byte order mark before the secret',
    `\u{FEFF}${secret}`,
    secret.replace(/^\u{FEFF}/u, ''),
  );
}
