import type { Found } from './causes.ts';

/** A signature as it may have been meant. */
export interface Reading {
  /** lowercase hexadecimal digits */
  readonly digits: string;
  /** what is wrong with how it was written */
  readonly found: readonly Found[];
}

/** Fewer digits than this could match by chance. */
const FEWEST_DIGITS = 16;
const DIGITS = 64;
const SEPARATORS = /[:\s-]/g;
/** MD5, SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512. */
const DIGEST_BYTES = new Set([16, 20, 28, 32, 48, 64]);

const found = (cause: Found['cause'], what: string): Found => ({ cause, what });

interface Peeled {
  readonly text: string;
  readonly found: readonly Found[];
}

/** Every way to read a signature that is not written as it should be; the one as it stands comes first. */
export function signatureReadings(signature: string): readonly Reading[] {
  const peeled = peel(signature);
  const parts = peeled.text.split(/[\s,;]+/).filter((part) => part.length >= FEWEST_DIGITS);
  const several = found('several-signatures', `the value contains ${parts.length} signatures`);
  return [
    ...readingsOf(peeled),
    ...embedded(signature),
    ...(parts.length > 1 ? parts.flatMap((part) => readingsOf(peel(part, [...peeled.found, several]))) : []),
  ];
}

/** The digits in what a tool has printed around them: `SHA2-256(stdin)= …`, `…  -`. */
function embedded(signature: string): Reading[] {
  const runs = signature.match(/(?<![0-9a-z])[0-9a-f]{64}(?![0-9a-z])/gi) ?? [];
  const [run] = runs;
  if (run === undefined || runs.length > 1 || run === signature) return [];
  return readingsOf({ text: run, found: [found('surroundings', 'the value contains other text besides the digits')] });
}

/** The time that some services write before a signature: `t=1700000000,v1=…`. */
export function timestampIn(signature: string): string | null {
  return /\bt=(\d{9,14})\b/.exec(signature)?.[1] ?? null;
}

/** Takes off what may stand around the digits, layer by layer. */
function peel(signature: string, before: readonly Found[] = []): Peeled {
  let text = signature;
  const layers: Found[] = [...before];
  for (;;) {
    const trimmed = text.trim();
    const quoted = /^(["'`])(.*)\1$/s.exec(trimmed)?.[2];
    const prefix = /^(?:t=\d+,\s*)?([A-Za-z][\w-]{0,30}\s*[=:,]|0x)\s*(?=\S{16})/.exec(trimmed);
    if (trimmed !== text) layers.push(found('signature-white-space', 'the signature has white space around it'));
    if (quoted !== undefined) {
      layers.push(found('quotes', 'the signature has quotation marks around it'));
      text = quoted;
    } else if (prefix !== null && !isGrouped(trimmed)) {
      layers.push(found('prefix', `the signature begins with ${JSON.stringify(prefix[0].trim())}`));
      text = trimmed.slice(prefix[0].length);
    } else {
      return { text: trimmed, found: layers };
    }
  }
}

/** `ab:cd:…` begins with no prefix. */
function isGrouped(text: string): boolean {
  return /^[0-9a-f]+$/i.test(text.replaceAll(SEPARATORS, ''));
}

function readingsOf({ text, found: layers }: Peeled): Reading[] {
  const readings: Reading[] = [];
  const add = (digits: string, ...more: Found[]): void => {
    readings.push({ digits, found: [...layers, ...more] });
  };

  const hex = text.replaceAll(SEPARATORS, '');
  if (/^[0-9a-fA-F]+$/.test(hex) && hex.length >= FEWEST_DIGITS) {
    const spelling: Found[] = [];
    if (hex !== text) spelling.push(found('separators', 'the digits of the signature have separators'));
    if (/[A-F]/.test(hex)) spelling.push(found('uppercase-hex', 'the digits of the signature are in uppercase'));
    if (hex.length < DIGITS)
      spelling.push(found('truncated', `the signature has ${hex.length} digits instead of ${DIGITS}`));
    add(hex.toLowerCase(), ...spelling);
  }

  const bytes = base64Bytes(text);
  if (bytes !== null) {
    const url = /[-_]/.test(text) ? 'base64url' : 'base64';
    add(bytes.toString('hex'), found('base64-signature', `the signature is in ${url}`));
    const inner = bytes.toString('latin1');
    if (/^[0-9a-f]{32,128}$/i.test(inner)) {
      add(
        inner.toLowerCase(),
        found('base64-signature', 'the hexadecimal digits of the signature were encoded in base64'),
      );
    }
  }
  return readings;
}

function base64Bytes(text: string): Buffer | null {
  if (!/^[A-Za-z0-9+/_-]{20,}={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  if (!DIGEST_BYTES.has(bytes.byteLength) && !DIGEST_BYTES.has(bytes.byteLength / 2)) return null;
  return bytes.toString('base64url') === text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    ? bytes
    : null;
}
