/** All mistakes that `explainMismatch` can report: the meaning of a match, and the fix. */
export const CAUSES = {
  're-serialised': [
    'one side parsed the JSON and wrote it again: the values are the same, but the bytes differ',
    'sign and verify the raw bytes. Mount the webhook route before any body parser, and never hash ' +
      'JSON.stringify(request.body).',
  ],
  'trailing-newline': [
    'a newline at the end was added or removed; the signature covers every byte',
    'send files with curl --data-binary, sign with printf %s instead of echo, and configure your editor not to add ' +
      'a newline at the end.',
  ],
  'white-space': [
    'white space around the body was added or removed; the signature covers every byte',
    'do not trim or pad the body before you sign or verify it.',
  ],
  'line-endings': [
    'line breaks inside the body were changed or removed',
    'send files with curl --data-binary, not --data, and stop git (core.autocrlf) and editors from changing line ' +
      'breaks.',
  ],
  bom: [
    'a byte order mark before the body was added or removed',
    'save the file as UTF-8 without BOM, and read bodies as bytes.',
  ],
  'base64-body': [
    'one side used the base64 text as the body; the other side used the decoded bytes',
    'decode first, then verify. In AWS Lambda, the body is base64 if event.isBase64Encoded is true; ' +
      'hookbox/aws-lambda decodes it.',
  ],
  'hex-body': [
    'one side used hexadecimal digits as the body; the other side used the decoded bytes',
    'decode the digits first, then verify.',
  ],
  'compressed-body': [
    'one side hashed the compressed bytes; the other side hashed the decompressed bytes',
    'send webhooks without Content-Encoding, or verify before decompression.',
  ],
  'character-encoding': [
    'one side decoded the body to text and encoded the text differently',
    'read the body as bytes and hash them; do not convert it to text first.',
  ],
  'double-encoded': [
    'one side encoded the body again, for example as text inside another document',
    'send the JSON itself as the body.',
  ],
  'not-the-body': [
    'one side hashed a placeholder such as [object Object] instead of the body: a body parser ran first, or code converted an object to text',
    'hash the raw bytes of the body.',
  ],
  'empty-body': [
    'one side hashed an empty body, because other code read the body first or did not forward it',
    'read the raw bytes once, before any other code reads the body, and pass the bytes to that code.',
  ],
  'headers-in-file': [
    'the file contains a whole HTTP message, but the signature covers only its body',
    'keep only the part after the empty line.',
  ],
  'other-body': [
    'the signature belongs to a different delivery',
    'use the signature and the body of the same request.',
  ],
  'uppercase-hex': [
    'X-Signature must be in lowercase hexadecimal; receivers reject any other form',
    'write the digits in lowercase.',
  ],
  prefix: [
    'X-Signature must be 64 hexadecimal digits without a prefix; the prefix of this value is that of another service',
    'remove the prefix.',
  ],
  surroundings: [
    'X-Signature must be exactly 64 hexadecimal digits; this value also contains other text',
    "take only the digits, for example with openssl dgst -r … | cut -d ' ' -f 1, or hookbox sign.",
  ],
  quotes: ['the signature has quotation marks around it', 'remove them.'],
  'signature-white-space': [
    'the signature has white space around it',
    'trim the value, for example after reading it from a file.',
  ],
  separators: ['the digits are written in groups', 'write the 64 digits without separators.'],
  'base64-signature': [
    'the signature is in base64 instead of hexadecimal',
    "encode the hash in hexadecimal, for example with .digest('hex') or .hexdigest().",
  ],
  truncated: [
    'the signature is cut off',
    'send all 64 digits. Check whether a column or variable is too short for them.',
  ],
  'several-signatures': ['the value contains several signatures', 'send X-Signature once, with one signature.'],
  'secret-white-space': [
    'one side has white space around the secret, such as the newline that ends a file',
    'set the secret without white space: use printf %s instead of echo, and leave no space after the secret in an .env file.',
  ],
  'secret-quotes': [
    'one side treated the quotation marks around the secret as part of it',
    'set the secret without quotation marks; docker run --env-file, for example, does not remove them.',
  ],
  'secret-encoding': [
    'one side decoded the secret; the other side used it without decoding it',
    'use the secret as the dashboard shows it, encoded in UTF-8.',
  ],
  'secret-prefix': [
    'one side removed the prefix of the secret, or added one',
    'use the whole secret exactly as the dashboard shows it.',
  ],
  'secret-unset': [
    'the signer had no secret: a string such as "undefined" became the key',
    'set SIGNING_SECRET for the signer. hookbox rejects such a secret because it is easy to guess.',
  ],
  'old-secret': [
    'the signer used the secret from before the rotation',
    'pass both secrets to the receiver (secret: [new, old]) until the last retry that was signed with the old secret has arrived.',
  ],
  algorithm: [
    'X-Signature must be an HMAC-SHA256, but this signature uses a different algorithm',
    'use HMAC with SHA-256, with the secret as the key and the body as the message.',
  ],
  timestamp: [
    'the signer hashed more than the body, as some services do; X-Signature covers only the body',
    'hash only the raw body, without anything before it.',
  ],
  'malformed-signature': [
    'X-Signature must be exactly 64 lowercase hexadecimal digits; receivers reject any other value without comparing it',
    'use the value of X-Signature unchanged.',
  ],
  'wrong-bytes': [
    'either the body differs from the signed body in an unknown way (for example, a value was changed), or the secrets differ',
    'compare the length and SHA-256 of the body on both sides. Then compare the secret: its length, its first character, and the endpoint that it belongs to.',
  ],
} as const satisfies Record<string, readonly [meaning: string, fix: string]>;

export type Cause = keyof typeof CAUSES;

export interface Found {
  readonly cause: Cause;
  readonly what: string;
}

/** A possible body, secret or signature, with the mistakes that lead to it; none for the original. */
export interface Variant<Value> {
  readonly value: Value;
  readonly found: readonly Found[];
}

export type Mistakes<Make> = readonly (readonly [found: Found, make: Make])[];

export function mistakes<Make>(cause: Cause, before: string, makes: Readonly<Record<string, Make>>): Mistakes<Make> {
  return Object.entries(makes).map(([what, make]) => [{ cause, what: before + what }, make]);
}
