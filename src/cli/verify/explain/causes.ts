interface CauseText {
  /** what a match with it means */
  readonly meaning: string;
  /** what to change */
  readonly fix: string;
}

/** Every mistake that `explainMismatch` can name. */
export const CAUSES = {
  're-serialised': {
    meaning: 'one side parsed the JSON and wrote it again: the values are the same, but the bytes differ',
    fix:
      'sign and verify the raw bytes. Mount the webhook route before any body parser, and never hash ' +
      'JSON.stringify(request.body).',
  },
  'trailing-newline': {
    meaning: 'a newline at the end was added or removed; the signature covers every byte',
    fix:
      'send files with curl --data-binary, sign with printf %s instead of echo, and configure your editor not to add ' +
      'a newline at the end.',
  },
  'white-space': {
    meaning: 'white space around the body was added or removed; the signature covers every byte',
    fix: 'do not trim or pad the body before you sign or verify it.',
  },
  'line-endings': {
    meaning: 'line breaks inside the body were changed or removed',
    fix:
      'send files with curl --data-binary, not --data, and stop git (core.autocrlf) and editors from changing line ' +
      'breaks.',
  },
  bom: {
    meaning: 'a byte order mark before the body was added or removed',
    fix: 'save the file as UTF-8 without BOM, and read bodies as bytes.',
  },
  'base64-body': {
    meaning: 'one side used the base64 text as the body; the other side used the decoded bytes',
    fix:
      'decode first, then verify. In AWS Lambda, the body is base64 if event.isBase64Encoded is true; ' +
      'hookbox/aws-lambda decodes it.',
  },
  'hex-body': {
    meaning: 'one side used hexadecimal digits as the body; the other side used the decoded bytes',
    fix: 'decode the digits first, then verify.',
  },
  'compressed-body': {
    meaning: 'one side hashed the compressed bytes; the other side hashed the decompressed bytes',
    fix: 'send webhooks without Content-Encoding, or verify before decompression.',
  },
  'character-encoding': {
    meaning: 'one side decoded the body to text and encoded the text differently',
    fix: 'read the body as bytes and hash them; do not convert it to text first.',
  },
  'double-encoded': {
    meaning: 'one side encoded the body again, for example as text inside another document',
    fix: 'send the JSON itself as the body.',
  },
  'not-the-body': {
    meaning:
      'one side hashed a placeholder such as [object Object] instead of the body: a body parser ran first, or code converted an object to text',
    fix: 'hash the raw bytes of the body.',
  },
  'empty-body': {
    meaning: 'one side hashed an empty body, because other code read the body first or did not forward it',
    fix: 'read the raw bytes once, before any other code reads the body, and pass the bytes to that code.',
  },
  'headers-in-file': {
    meaning: 'the file contains a whole HTTP message, but the signature covers only its body',
    fix: 'keep only the part after the empty line.',
  },
  'other-body': {
    meaning: 'the signature belongs to a different delivery',
    fix: 'use the signature and the body of the same request.',
  },
  'uppercase-hex': {
    meaning: 'X-Signature must be in lowercase hexadecimal; receivers reject any other form',
    fix: 'write the digits in lowercase.',
  },
  prefix: {
    meaning:
      'X-Signature must be 64 hexadecimal digits without a prefix; the prefix of this value is that of another service',
    fix: 'remove the prefix.',
  },
  surroundings: {
    meaning: 'X-Signature must be exactly 64 hexadecimal digits; this value also contains other text',
    fix: "take only the digits, for example with openssl dgst -r … | cut -d ' ' -f 1, or hookbox sign.",
  },
  quotes: {
    meaning: 'the signature has quotation marks around it',
    fix: 'remove them.',
  },
  'signature-white-space': {
    meaning: 'the signature has white space around it',
    fix: 'trim the value, for example after reading it from a file.',
  },
  separators: {
    meaning: 'the digits are written in groups',
    fix: 'write the 64 digits without separators.',
  },
  'base64-signature': {
    meaning: 'the signature is in base64 instead of hexadecimal',
    fix: "encode the hash in hexadecimal, for example with .digest('hex') or .hexdigest().",
  },
  truncated: {
    meaning: 'the signature is cut off',
    fix: 'send all 64 digits. Check whether a column or variable is too short for them.',
  },
  'several-signatures': {
    meaning: 'the value contains several signatures',
    fix: 'send X-Signature once, with one signature.',
  },
  'secret-white-space': {
    meaning: 'one side has white space around the secret, such as the newline that ends a file',
    fix: 'set the secret without white space: use printf %s instead of echo, and leave no space after the secret in an .env file.',
  },
  'secret-quotes': {
    meaning: 'one side treated the quotation marks around the secret as part of it',
    fix: 'set the secret without quotation marks; docker run --env-file, for example, does not remove them.',
  },
  'secret-encoding': {
    meaning: 'one side decoded the secret; the other side used it without decoding it',
    fix: 'use the secret as the dashboard shows it, encoded in UTF-8.',
  },
  'secret-prefix': {
    meaning: 'one side removed the prefix of the secret, or added one',
    fix: 'use the whole secret exactly as the dashboard shows it.',
  },
  'secret-unset': {
    meaning: 'the signer had no secret: a string such as "undefined" became the key',
    fix: 'set SIGNING_SECRET for the signer. hookbox rejects such a secret because it is easy to guess.',
  },
  'old-secret': {
    meaning: 'the signer used the secret from before the rotation',
    fix: 'pass both secrets to the receiver (secret: [new, old]) until the last retry that was signed with the old secret has arrived.',
  },
  algorithm: {
    meaning: 'X-Signature must be an HMAC-SHA256, but this signature uses a different algorithm',
    fix: 'use HMAC with SHA-256, with the secret as the key and the body as the message.',
  },
  timestamp: {
    meaning: 'the signer hashed more than the body, as some services do; X-Signature covers only the body',
    fix: 'hash only the raw body, without anything before it.',
  },
  'malformed-signature': {
    meaning:
      'X-Signature must be exactly 64 lowercase hexadecimal digits; receivers reject any other value without comparing it',
    fix: 'use the value of X-Signature unchanged.',
  },
  'wrong-bytes': {
    meaning:
      'either the body differs from the signed body in an unknown way (for example, a value was changed), or the secrets differ',
    fix: 'compare the length and SHA-256 of the body on both sides. Then compare the secret: its length, its first character, and the endpoint that it belongs to.',
  },
} as const satisfies Record<string, CauseText>;

/** The name of a mistake. */
export type Cause = keyof typeof CAUSES;

/** A mistake before its texts are added: what exactly was found. */
export interface Found {
  readonly cause: Cause;
  readonly what: string;
}
