interface CauseText {
  /** what a match with it means */
  readonly meaning: string;
  /** what to change */
  readonly fix: string;
}

/** Every mistake that `explainMismatch` can name. */
export const CAUSES = {
  're-serialised': {
    meaning: 'the JSON was parsed and written again on one side: it says the same, in other bytes',
    fix:
      'sign and verify the raw bytes. Mount the webhook before anything that parses bodies, and never hash ' +
      'JSON.stringify(request.body).',
  },
  'trailing-newline': {
    meaning: 'a newline at the end was added or lost on the way; it counts like any other byte',
    fix: 'send files with curl --data-binary, sign with printf %s instead of echo, and keep editors from ending the file with a newline.',
  },
  'white-space': {
    meaning: 'white space around the body was added or lost; it counts like any other byte',
    fix: 'neither trim nor pad the body before it is signed or verified.',
  },
  'line-endings': {
    meaning: 'line breaks inside the body were changed or removed',
    fix: 'send files with curl --data-binary, not --data, and keep git (core.autocrlf) and editors from changing them.',
  },
  bom: {
    meaning: 'a byte order mark was put before the body, or taken away',
    fix: 'save the file as UTF-8 without BOM, and read bodies as bytes.',
  },
  'base64-body': {
    meaning: 'one side took the base64 text for the body, and the other the bytes behind it',
    fix: 'decode first, then verify. On AWS Lambda that is so when event.isBase64Encoded is true; hookbox/aws-lambda does it.',
  },
  'hex-body': {
    meaning: 'one side took hexadecimal digits for the body, and the other the bytes behind them',
    fix: 'decode the digits first, then verify.',
  },
  'compressed-body': {
    meaning: 'one side hashed the compressed bytes, and the other what is in them',
    fix: 'send webhooks without Content-Encoding, or verify before anything decompresses.',
  },
  'character-encoding': {
    meaning: 'the body was decoded to a text and encoded again in another encoding',
    fix: 'read the body as bytes and hash those; do not make a text of it in between.',
  },
  'double-encoded': {
    meaning: 'the body was encoded once more, as if it were a text inside another document',
    fix: 'send the JSON itself as the body.',
  },
  'not-the-body': {
    meaning: 'what was hashed is not the body but what a program wrote in its place',
    fix: 'hash the raw bytes. A body parser ran before, or an object was made a text.',
  },
  'empty-body': {
    meaning: 'an empty body was hashed: the bytes had been read before, or were not passed on',
    fix: 'read the raw bytes once, before anything else does, and pass those on.',
  },
  'headers-in-file': {
    meaning: 'the file holds a whole HTTP message, and the signature covers only the body in it',
    fix: 'keep what follows the empty line, and nothing else.',
  },
  'other-body': {
    meaning: 'the signature belongs to another delivery',
    fix: 'take signature and body from the same request.',
  },
  'uppercase-hex': {
    meaning: 'X-Signature is written in lowercase hexadecimal; another spelling is refused',
    fix: 'write the digits in lowercase.',
  },
  prefix: {
    meaning: "X-Signature is the 64 digits alone; the form with a prefix is another service's",
    fix: 'leave out what stands before the digits.',
  },
  surroundings: {
    meaning: 'X-Signature is the 64 digits alone; here something stands beside them',
    fix: "take the digits alone, such as with openssl dgst -r … | cut -d ' ' -f 1, or hookbox sign.",
  },
  quotes: {
    meaning: 'quotation marks came along with the signature',
    fix: 'leave them out.',
  },
  'signature-white-space': {
    meaning: 'white space came along with the signature',
    fix: 'trim the value, for example when it is read from a file.',
  },
  separators: {
    meaning: 'the digits are written in groups',
    fix: 'write the 64 digits without anything between them.',
  },
  'base64-signature': {
    meaning: 'the right bytes, written in base64 instead of hexadecimal',
    fix: "ask the hash for hexadecimal, such as .digest('hex') or .hexdigest().",
  },
  truncated: {
    meaning: 'the right signature, cut off',
    fix: 'send all 64 digits; look for a column or a variable that is too short.',
  },
  'several-signatures': {
    meaning: 'the value holds more than one signature',
    fix: 'send X-Signature once, with one signature.',
  },
  'secret-white-space': {
    meaning: 'one side has white space around the secret, such as the newline that ends a file',
    fix: 'set the secret without it; printf %s instead of echo, and no space behind it in an .env file.',
  },
  'secret-quotes': {
    meaning: 'one side took the quotation marks around the secret for a part of it',
    fix: 'set the secret without them; docker run --env-file, for one, keeps them.',
  },
  'secret-encoding': {
    meaning: 'one side decoded the secret, and the other used it as the text it is',
    fix: 'use the secret as its UTF-8 bytes, as the dashboard shows it.',
  },
  'secret-prefix': {
    meaning: 'one side left out the prefix of the secret, or has one too many',
    fix: 'use the whole secret as the dashboard shows it, and nothing else.',
  },
  'secret-unset': {
    meaning: 'the secret was not set where this was signed: a text such as "undefined" became the key',
    fix: 'set SIGNING_SECRET there. hookbox refuses such a secret, because anybody can guess it.',
  },
  'old-secret': {
    meaning: 'signed with the secret from before the rotation',
    fix: 'give the receiver both, secret: [new, old], until the last retry of what was signed before is over.',
  },
  algorithm: {
    meaning: 'X-Signature is an HMAC-SHA256; this was hashed in another way',
    fix: 'use HMAC with SHA-256, the secret as the key and the body as the message.',
  },
  timestamp: {
    meaning: 'more than the body was hashed, as other services do; X-Signature covers the body alone',
    fix: 'hash the raw body and nothing before it.',
  },
  'malformed-signature': {
    meaning: 'X-Signature is exactly 64 lowercase hexadecimal digits; anything else is refused before it is compared',
    fix: 'take the value of X-Signature as it is.',
  },
  'wrong-bytes': {
    meaning:
      'the bytes differ from what was signed in a way that cannot be guessed, such as a changed value, or the secret is ' +
      'another one',
    fix:
      'compare the length and the SHA-256 of the body on both sides, then the secret: its length, its first letter, the ' +
      'endpoint it belongs to.',
  },
} as const satisfies Record<string, CauseText>;

/** The name of a mistake. */
export type Cause = keyof typeof CAUSES;

/** A mistake before its texts are added: what exactly was found. */
export interface Found {
  readonly cause: Cause;
  readonly what: string;
}
