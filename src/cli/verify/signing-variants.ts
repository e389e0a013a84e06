import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { parseInstant } from '../../events/instant.ts';
import { mistakes, type Cause, type Found, type Mistakes, type Variant } from './causes.ts';

export function keyVariants(secret: string, oldSecrets: readonly string[]): readonly Variant<Buffer>[] {
  const variants = new Map<string, Variant<Buffer>>();
  const add = (key: string | Buffer, ...found: readonly Found[]): void => {
    const value = Buffer.from(key);
    const name = value.toString('latin1');
    if (!variants.has(name)) variants.set(name, { value, found });
  };
  add(secret);
  const old: Found = { cause: 'old-secret', what: `${WITH}the old secret` };
  for (const one of [...oldSecrets, ...oldSecrets.map((each) => each.trim())]) add(one, old);
  for (const [found, makeKeys] of KEYS) for (const key of makeKeys(secret.trim())) add(key, found);
  return [...variants.values()];
}

const WITH = 'the signature was computed with ';
const QUOTED = /^(["'`])(.*)\1$/s;

function captured(pattern: RegExp, text: string, group = 1): readonly string[] {
  const found = pattern.exec(text)?.[group];
  return found === undefined ? [] : [found];
}

const hex = (text: string): readonly Buffer[] => (/^([0-9a-f]{2})+$/i.test(text) ? [Buffer.from(text, 'hex')] : []);
const base64 = (text: string): readonly Buffer[] =>
  /^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(text) ? [Buffer.from(text, 'base64')] : [];
const withoutPrefix = (secret: string): readonly string[] => captured(/^[A-Za-z]{1,12}_(.+)$/s, secret);
const named = (secret: string): readonly string[] =>
  secret.endsWith('=') ? [] : captured(/^(?:export\s+)?[A-Za-z_]\w*\s*=\s*["']?(.+?)["']?$/s, secret);

type MakeKeys = (secret: string) => readonly (string | Buffer)[];

const KEYS: Mistakes<MakeKeys> = [
  ...mistakes<MakeKeys>('secret-white-space', '', {
    'your secret has white space around it': (secret) => [secret],
    [`${WITH}white space around the secret`]: (secret) => [
      ...['\n', '\r\n', ' ', '\r', '\t'].flatMap((space) => [secret + space, space + secret]),
      ` ${secret} `,
      `${secret}  `,
    ],
  }),
  ...mistakes<MakeKeys>('secret-quotes', '', {
    'your secret has quotation marks around it': (secret) => captured(QUOTED, secret, 2),
    [`${WITH}quotation marks around the secret`]: (secret) => ['"', "'", '`'].map((quote) => quote + secret + quote),
  }),
  ...mistakes<MakeKeys>('secret-prefix', '', { 'your secret begins with the name of an environment variable': named }),
  ...mistakes<MakeKeys>('secret-encoding', WITH, {
    'the secret decoded from hexadecimal': hex,
    'the secret decoded from base64': base64,
  }),
  ...mistakes<MakeKeys>('secret-prefix', WITH, {
    'the secret without its prefix': withoutPrefix,
    'a secret that still has its prefix whsec_': (secret) => [`whsec_${secret}`],
  }),
  ...mistakes<MakeKeys>('secret-encoding', WITH, {
    'the decoded base64 that follows the prefix of the secret': (secret) => withoutPrefix(secret).flatMap(base64),
    'the decoded hexadecimal digits that follow the prefix of the secret': (secret) =>
      withoutPrefix(secret).flatMap(hex),
    'the secret written in hexadecimal': (secret) => {
      const digits = Buffer.from(secret).toString('hex');
      return [digits, digits.toUpperCase()];
    },
    'the secret written in base64': (secret) => [
      Buffer.from(secret).toString('base64'),
      Buffer.from(secret).toString('base64url'),
    ],
    'the secret in UTF-16': (secret) => [Buffer.from(secret, 'utf16le')],
    'the secret in Latin-1': (secret) => [Buffer.from(secret, 'latin1')],
    'the secret in lowercase': (secret) => [secret.toLowerCase()],
    'the secret in uppercase': (secret) => [secret.toUpperCase()],
  }),
  ...mistakes<MakeKeys>('secret-encoding', '', {
    'one side has a byte order mark before the secret': (secret) => [
      `\u{FEFF}${secret}`,
      secret.replace(/^\u{FEFF}/u, ''),
    ],
  }),
  ...mistakes<MakeKeys>('secret-unset', '', {
    'the signature was computed without a secret': () => [
      'undefined',
      'null',
      'None',
      'nil',
      '',
      '$SIGNING_SECRET',
      '${SIGNING_SECRET}',
    ],
  }),
];

type Digits = (key: Buffer, body: Uint8Array) => string;
export type Scheme = Variant<Digits>;

/** HMAC-SHA256 of the body alone (interface 6.3). */
export const RIGHT_SCHEME: Scheme = { value: (key, body) => hmac('sha256', key, body), found: [] };

export function otherSchemes(body: Uint8Array, signature: string): readonly Scheme[] {
  const { id, times } = envelopeOf(body);
  const known = [...captured(/\bt=(\d{9,14})\b/, signature), ...times];
  return [
    ...[...ALGORITHMS, ...SWAPPED].map(([found, value]): Scheme => ({ value, found: [found] })),
    ...known.flatMap((time) => [
      after(`${time}.`, 'the signer put a timestamp and a full stop before the body, as Stripe does'),
      after(`v0:${time}:`, 'the signer put v0, a timestamp and colons before the body, as Slack does'),
      after(`${id}.${time}.`, 'the signer put the id and a timestamp before the body, as in Standard Webhooks'),
      after(time, 'the signer put a timestamp before the body'),
    ]),
  ];
}

const ALGORITHMS = mistakes<Digits>('algorithm', 'the signature ', {
  ...Object.fromEntries(
    ['sha1', 'sha512', 'sha384', 'sha224', 'md5', 'sha3-256'].map((name) => {
      return [`is an HMAC with ${name.toUpperCase()}`, (key: Buffer, body: Uint8Array) => hmac(name, key, body)];
    }),
  ),
  ...Object.fromEntries(
    ['sha256', 'sha1', 'sha512', 'md5'].map((name) => {
      const what = `is the ${name.toUpperCase()} of the body, without the secret`;
      return [what, (_: Buffer, body: Uint8Array) => hash(name, body)];
    }),
  ),
  'is the SHA-256 of the secret and the body': (key, body) => hash('sha256', key, body),
  'is the SHA-256 of the body and the secret': (key, body) => hash('sha256', body, key),
  'was computed over the hexadecimal SHA-256 of the body': (key, body) =>
    hmac('sha256', key, Buffer.from(hash('sha256', body))),
  'was computed over the binary SHA-256 of the body': (key, body) =>
    hmac('sha256', key, Buffer.from(hash('sha256', body), 'hex')),
});

const SWAPPED = mistakes<Digits>('algorithm', '', {
  'the body and the secret were swapped: the body was used as the key': (key, body) =>
    hmac('sha256', Buffer.from(body), key),
});

function after(prefix: string, what: string): Scheme {
  return {
    found: [{ cause: 'timestamp', what }],
    value: (key, body) => hmac('sha256', key, Buffer.concat([Buffer.from(prefix), body])),
  };
}

function envelopeOf(body: Uint8Array): { readonly id: string; readonly times: readonly string[] } {
  const start = Buffer.from(body.subarray(0, 4_096)).toString();
  const [id = ''] = captured(/"id"\s*:\s*"([^"\\]*)"/, start);
  const [created = ''] = captured(/"created"\s*:\s*"([^"\\]*)"/, start);
  const instant = parseInstant(created);
  return { id, times: instant === null ? [] : [String(Math.floor(instant.ms / 1000)), String(instant.ms), created] };
}

const keys = new WeakMap<Buffer, KeyObject>();

function hmac(algorithm: string, key: Buffer, body: Uint8Array): string {
  let ready = keys.get(key);
  if (ready === undefined) keys.set(key, (ready = createSecretKey(key)));
  return createHmac(algorithm, ready).update(body).digest('hex');
}

function hash(algorithm: string, ...parts: Uint8Array[]): string {
  const digest = createHash(algorithm);
  for (const part of parts) digest.update(part);
  return digest.digest('hex');
}

/** Fewer digits could match by chance. */
const FEWEST_DIGITS = 16;
const DIGITS = 64;
const SEPARATORS = /[:\s-]/g;
/** MD5, SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512. */
const DIGEST_BYTES = new Set([16, 20, 28, 32, 48, 64]);

const found = (cause: Cause, what: string): Found => ({ cause, what });

/** The unchanged signature comes first. */
export function signatureReadings(signature: string): readonly Variant<string>[] {
  const peeled = peel(signature);
  const parts = peeled.value.split(/[\s,;]+/).filter((part) => part.length >= FEWEST_DIGITS);
  const several = found('several-signatures', `the value contains ${parts.length} signatures`);
  return [
    ...readingsOf(peeled),
    ...embedded(signature),
    ...(parts.length > 1 ? parts.flatMap((part) => readingsOf(peel(part, [...peeled.found, several]))) : []),
  ];
}

function embedded(signature: string): readonly Variant<string>[] {
  const [run, ...more] = signature.match(/(?<![0-9a-z])[0-9a-f]{64}(?![0-9a-z])/gi) ?? [];
  if (run === undefined || more.length > 0 || run === signature) return [];
  return readingsOf({ value: run, found: [found('surroundings', 'the value contains other text besides the digits')] });
}

function peel(signature: string, before: readonly Found[] = []): Variant<string> {
  let text = signature;
  const layers: Found[] = [...before];
  for (;;) {
    const trimmed = text.trim();
    const quoted = QUOTED.exec(trimmed)?.[2];
    const prefix = /^(?:t=\d+,\s*)?([A-Za-z][\w-]{0,30}\s*[=:,]|0x)\s*(?=\S{16})/.exec(trimmed);
    const isGrouped = /^[0-9a-f]+$/i.test(trimmed.replaceAll(SEPARATORS, '')); // `ab:cd:…` has no prefix
    if (trimmed !== text) layers.push(found('signature-white-space', 'the signature has white space around it'));
    if (quoted !== undefined) {
      layers.push(found('quotes', 'the signature has quotation marks around it'));
      text = quoted;
    } else if (prefix !== null && !isGrouped) {
      layers.push(found('prefix', `the signature begins with ${JSON.stringify(prefix[0].trim())}`));
      text = trimmed.slice(prefix[0].length);
    } else {
      return { value: trimmed, found: layers };
    }
  }
}

function readingsOf({ value: text, found: layers }: Variant<string>): readonly Variant<string>[] {
  const readings: Variant<string>[] = [];
  const add = (digits: string, ...more: readonly Found[]): void => {
    readings.push({ value: digits.toLowerCase(), found: [...layers, ...more] });
  };
  const digits = text.replaceAll(SEPARATORS, '');
  if (/^[0-9a-fA-F]+$/.test(digits) && digits.length >= FEWEST_DIGITS) {
    const short = `the signature has ${digits.length} digits instead of ${DIGITS}`;
    add(
      digits,
      ...(digits === text ? [] : [found('separators', 'the digits of the signature have separators')]),
      ...(/[A-F]/.test(digits) ? [found('uppercase-hex', 'the digits of the signature are in uppercase')] : []),
      ...(digits.length < DIGITS ? [found('truncated', short)] : []),
    );
  }
  const bytes = base64Bytes(text);
  if (bytes === null) return readings;
  const form = /[-_]/.test(text) ? 'base64url' : 'base64';
  add(bytes.toString('hex'), found('base64-signature', `the signature is in ${form}`));
  const inner = bytes.toString('latin1');
  const encoded = 'the hexadecimal digits of the signature were encoded in base64';
  if (/^[0-9a-f]{32,128}$/i.test(inner)) add(inner, found('base64-signature', encoded));
  return readings;
}

function base64Bytes(text: string): Buffer | null {
  if (!/^[A-Za-z0-9+/_-]{20,}={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (!DIGEST_BYTES.has(bytes.byteLength) && !DIGEST_BYTES.has(bytes.byteLength / 2)) return null;
  const url = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  return bytes.toString('base64url') === url ? bytes : null;
}
