import { createHash } from 'node:crypto';
import { isWellFormedSignature, verifySignature } from '../../signing/signature.ts';
import { EXIT, print, printJson, styled, tell, usageError, type ExitCode } from '../shared/output.ts';
import { noteWhenEmpty, readInput } from '../shared/files.ts';
import { secretOf, type SecretOptions } from '../shared/secret.ts';
import { hasMatchingVariant, leftOfBody, type OtherBody } from './body-variants.ts';
import { CAUSES, type Found, type Variant } from './causes.ts';
import { keyVariants, otherSchemes, RIGHT_SCHEME, signatureReadings, type Scheme } from './signing-variants.ts';

interface VerifyOptions extends SecretOptions {
  readonly signature: string;
  readonly explain?: boolean;
  readonly also?: readonly string[];
  readonly oldSecretFile?: string;
  readonly json?: boolean;
}

export async function verifyBody(file: string, options: VerifyOptions): Promise<ExitCode> {
  const { signature, explain = false, also, oldSecretFile, json = false } = options;
  if (signature === '') throw usageError('--signature is empty. Pass the value of X-Signature.');
  if (!explain && (also !== undefined || oldSecretFile !== undefined)) {
    throw usageError('--also and --old-secret-file work only with --explain. Add --explain.');
  }
  const body = await readInput(file);
  noteWhenEmpty(body);
  const secret = await secretOf(options);
  const valid = verifySignature(body, signature, secret);
  if (!valid && explain) {
    await printExplanation({ body, signature, secret }, options);
    return EXIT.failed;
  }
  if (json) printJson({ valid });
  else print(valid ? 'valid' : 'not valid');
  if (valid) return EXIT.ok;
  tell('Add --explain to find the cause.');
  return EXIT.failed;
}

async function printExplanation(
  mismatch: Pick<Mismatch, 'body' | 'signature' | 'secret'>,
  { also = [], oldSecretFile, json }: VerifyOptions,
): Promise<void> {
  const others = await Promise.all(also.map(async (name) => ({ name, body: await readInput(name) })));
  const inFile = oldSecretFile === undefined ? [] : [await secretOf({ secretFile: oldSecretFile })];
  const oldSecrets = [...inFile, process.env['SIGNING_SECRET_OLD'] ?? ''].filter((secret) => secret !== '');
  const explanation = explainMismatch({ ...mismatch, others, oldSecrets });
  const bytes = mismatch.body.byteLength;
  const sha256 = createHash('sha256').update(mismatch.body).digest('hex');
  if (json === true) {
    printJson({ ...explanation, body: { bytes, sha256 } });
    return;
  }
  const { mistakes, explained, tried } = explanation;
  print('not valid');
  for (const { cause, what, meaning, fix } of mistakes) {
    const sentence = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`;
    print('', `${styled('bold', cause)}: ${what}`, `  ${sentence}`, `  To do: ${fix}`);
  }
  if (explained) return;
  const numbers = `${tried.bodies} forms of the body, ${tried.secrets} forms of the secret, ${tried.schemes} ways to sign`;
  const pairs = tried.complete ? 'and every pair of these' : 'and as many pairs as time allowed';
  const more = [
    ...(oldSecrets.length > 0 ? [] : ['a secret from before a rotation (--old-secret-file)']),
    ...(others.length > 0 ? [] : ['other bodies (--also)']),
  ];
  print(
    '',
    tried.signatures === 0 ? [] : `Tried: ${numbers}, ${pairs}: ${tried.causes.join(', ')}.`,
    more.length === 0 ? [] : `Not tried: ${more.join(', ')}.`,
    `Your body has ${bytes} bytes and the SHA-256 ${sha256}.`,
  );
}

export interface Mismatch {
  readonly body: Uint8Array;
  readonly signature: string;
  readonly secret: string;
  readonly oldSecrets?: readonly string[];
  readonly others?: readonly OtherBody[];
}

/** Tries pairs of mistakes until this many bytes are hashed: about half a second. */
const PAIR_BYTES = 256 * 1024 * 1024;

/** Tries the usual mistakes, alone and in pairs, until one produces the signature. */
export function explainMismatch({ body, signature, secret, oldSecrets = [], others = [] }: Mismatch) {
  const readings = signatureReadings(signature);
  const asItIs: Variant<Uint8Array> = { value: body, found: [] };
  const bodies: Variant<Uint8Array>[] = [];
  const [given, ...otherKeys] = keyVariants(secret, oldSecrets) as [Variant<Buffer>, ...Variant<Buffer>[]];
  const schemes = otherSchemes(body, signature);
  let signatures = 0;
  let bytesLeft = Infinity;

  function search(): readonly Found[] | null {
    if (readings.length === 0) return null;
    const match = matcher(readings);
    let explanation: readonly Found[] | null = null;
    /** Whether the search is over. */
    const fits = (variant: Variant<Uint8Array>, key: Variant<Buffer>, scheme: Scheme): boolean => {
      if (bytesLeft <= 0) return true;
      signatures += 1;
      bytesLeft -= variant.value.byteLength;
      const reading = match(scheme.value(key.value, variant.value));
      if (reading === null) return false;
      explanation = [reading, variant, key, scheme].flatMap(({ found }) => found);
      return true;
    };
    const isOneMistake = (): boolean =>
      fits(asItIs, given, RIGHT_SCHEME) ||
      otherKeys.some((key) => fits(asItIs, key, RIGHT_SCHEME)) ||
      hasMatchingVariant(Buffer.from(body), others, (variant) => {
        bodies.push(variant);
        return fits(variant, given, RIGHT_SCHEME);
      }) ||
      schemes.some((scheme) => fits(asItIs, given, scheme));
    const isPair = (): boolean => {
      bytesLeft = PAIR_BYTES;
      return (
        otherKeys.some((key) => schemes.some((scheme) => fits(asItIs, key, scheme))) ||
        bodies.some((variant) => otherKeys.some((key) => fits(variant, key, RIGHT_SCHEME))) ||
        bodies.some((variant) => schemes.some((scheme) => fits(variant, given, scheme)))
      );
    };
    return isOneMistake() || isPair() ? explanation : null;
  }

  const found = search();
  const mistakes = found === null ? inexplicable(body, signature, readings) : [...lostBody(body, found), ...found];
  const tried = [...bodies, ...otherKeys, ...schemes];
  return {
    valid: found?.length === 0,
    explained: found !== null,
    mistakes: mistakes.map(({ cause, what }) => ({ cause, what, meaning: CAUSES[cause][0], fix: CAUSES[cause][1] })),
    tried: {
      bodies: bodies.length + 1,
      secrets: otherKeys.length + 1,
      schemes: schemes.length + 1,
      signatures,
      causes: [...new Set(tried.flatMap(({ found }) => found.map(({ cause }) => cause)))],
      complete: bytesLeft > 0,
    },
  };
}

/** Finds the reading of the signature that matches a digest. A truncated one matches by its beginning. */
function matcher(readings: readonly Variant<string>[]): (digits: string) => Variant<string> | null {
  const whole = new Map(readings.toReversed().map((reading) => [reading.value, reading]));
  const cut = readings.filter(({ found }) => found.some(({ cause }) => cause === 'truncated'));
  return (digits) => {
    const exact = whole.get(digits);
    // The forty digits of an HMAC-SHA1 are not a truncated HMAC-SHA256.
    if (exact !== undefined) return { ...exact, found: exact.found.filter(({ cause }) => cause !== 'truncated') };
    return cut.find((reading) => digits.startsWith(reading.value)) ?? null;
  };
}

/** If the body is not a body, that is the best explanation for a signature that does not match. */
function lostBody(body: Uint8Array, found: readonly Found[]): readonly Found[] {
  const left = found.some(({ cause }) => cause === 'other-body') ? leftOfBody(body) : null;
  return left === null ? [] : [left];
}

function inexplicable(body: Uint8Array, signature: string, readings: readonly Variant<string>[]): readonly Found[] {
  const wrong: Found = leftOfBody(body) ?? { cause: 'wrong-bytes', what: 'no known mistake leads to this signature' };
  if (isWellFormedSignature(signature)) return [wrong];
  const form = readings[0]?.found.map(({ what }) => what).join(', ') ?? '';
  const what = form === '' ? `the signature has ${[...signature].length} characters` : form;
  const malformed: Found = { cause: 'malformed-signature', what };
  return readings.length === 0 && wrong.cause === 'wrong-bytes' ? [malformed] : [malformed, wrong];
}
