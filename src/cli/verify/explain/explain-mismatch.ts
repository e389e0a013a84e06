import { isWellFormedSignature } from '../../../signing/signature.ts';
import { bodyVariants, leftOfBody, type BodyVariant } from './body-variants.ts';
import { CAUSES, type Cause, type Found } from './causes.ts';
import { LazyList } from './lazy-list.ts';
import { otherSchemes, RIGHT_SCHEME, type Scheme } from './signing-schemes.ts';
import { keyVariants, type KeyVariant } from './secret-variants.ts';
import { signatureReadings, timestampIn, type Reading } from './signature-readings.ts';

/** A body with the signature that does not match it. */
export interface Mismatch {
  /** the bytes that were to be verified */
  readonly body: Uint8Array;
  /** the value of `X-Signature` */
  readonly signature: string;
  readonly secret: string;
  /** secrets from before a rotation */
  readonly oldSecrets?: readonly string[];
  /** other bodies that the signature might belong to */
  readonly others?: readonly { readonly name: string; readonly body: Uint8Array }[];
}

/** One thing that went wrong. It never holds a secret or a signature that would be right. */
export interface Mistake {
  readonly cause: Cause;
  /** what was found */
  readonly what: string;
  readonly meaning: string;
  /** what to change */
  readonly fix: string;
}

/** Why a signature does not match, as far as that can be found out. */
export interface Explanation {
  /** there is nothing to explain */
  readonly valid: boolean;
  /** with every one of these mistakes, the signature is right; `false` when nothing that was tried fits */
  readonly explained: boolean;
  readonly mistakes: readonly Mistake[];
  /** how much was tried until it was explained */
  readonly tried: {
    readonly bodies: number;
    readonly secrets: number;
    readonly schemes: number;
    /** signatures that were computed */
    readonly signatures: number;
    /** the mistakes that were made, beside those in how a signature is written */
    readonly causes: readonly Cause[];
    /** `false` where the body is so large that not every pair of mistakes was tried */
    readonly complete: boolean;
  };
}

/** Pairs of mistakes are tried until so many bytes were hashed: about half a second. */
const PAIR_BYTES = 256 * 1024 * 1024;

/**
 * Says why a signature does not match, by making the usual mistakes until one of them, or two together, give that
 * signature. How the signature is written may be wrong besides.
 */
export function explainMismatch({ body, signature, secret, oldSecrets = [], others = [] }: Mismatch): Explanation {
  const readings = signatureReadings(signature);
  const asItIs: BodyVariant = { bytes: body, found: null };
  const otherBodies = new LazyList(bodyVariants(body, others));
  const [given, ...otherKeys] = keyVariants(secret, oldSecrets) as [KeyVariant, ...KeyVariant[]];
  const schemes = otherSchemes(body, timestampIn(signature));
  let signatures = 0;
  let bytesLeft = Infinity;

  function* combinations(): Generator<readonly [BodyVariant, KeyVariant, Scheme]> {
    yield [asItIs, given, RIGHT_SCHEME];
    for (const key of otherKeys) yield [asItIs, key, RIGHT_SCHEME];
    for (const variant of otherBodies) yield [variant, given, RIGHT_SCHEME];
    for (const scheme of schemes) yield [asItIs, given, scheme];
    bytesLeft = PAIR_BYTES;
    for (const key of otherKeys) for (const scheme of schemes) yield [asItIs, key, scheme];
    for (const variant of otherBodies) for (const key of otherKeys) yield [variant, key, RIGHT_SCHEME];
    for (const variant of otherBodies) for (const scheme of schemes) yield [variant, given, scheme];
  }

  function search(): readonly Found[] | null {
    if (readings.length === 0) return null;
    const match = matcher(readings);
    for (const [variant, key, scheme] of combinations()) {
      if (bytesLeft <= 0) return null;
      signatures += 1;
      bytesLeft -= variant.bytes.byteLength;
      const reading = match(scheme.digits(key.key, variant.bytes));
      if (reading === null) continue;
      return [...reading.found, ...[variant.found, key.found, scheme.found].filter((one) => one !== null)];
    }
    return null;
  }

  const found = search();
  const mistakes = found === null ? inexplicable(body, signature, readings) : [...lostBody(body, found), ...found];
  const tried = [...otherBodies.made, ...otherKeys, ...schemes];
  return {
    valid: found?.length === 0,
    explained: found !== null,
    mistakes: mistakes.map(({ cause, what }) => ({ cause, what, ...CAUSES[cause] })),
    tried: {
      bodies: otherBodies.made.length + 1,
      secrets: otherKeys.length + 1,
      schemes: schemes.length + 1,
      signatures,
      causes: [...new Set(tried.flatMap((one) => one.found?.cause ?? []))],
      complete: bytesLeft > 0,
    },
  };
}

/** Finds the reading that a digest fits. One that was cut off fits by its beginning. */
function matcher(readings: readonly Reading[]): (digits: string) => Reading | null {
  const whole = new Map(readings.toReversed().map((reading) => [reading.digits, reading]));
  const cut = readings.filter(isCut);
  return (digits) => {
    const exact = whole.get(digits);
    // Forty digits are no HMAC-SHA256 that was cut off when they are a whole HMAC-SHA1.
    if (exact !== undefined) return { ...exact, found: exact.found.filter(({ cause }) => cause !== 'truncated') };
    return cut.find((reading) => digits.startsWith(reading.digits)) ?? null;
  };
}

function isCut({ found }: Reading): boolean {
  return found.some(({ cause }) => cause === 'truncated');
}

/** What is not a body explains best why the signature is that of another. */
function lostBody(body: Uint8Array, found: readonly Found[]): readonly Found[] {
  const left = found.some(({ cause }) => cause === 'other-body') ? leftOfBody(body) : null;
  return left === null ? [] : [left];
}

/** What to say when nothing fits. */
function inexplicable(body: Uint8Array, signature: string, readings: readonly Reading[]): readonly Found[] {
  const wrong: Found = leftOfBody(body) ?? {
    cause: 'wrong-bytes',
    what: 'no known mistake leads to this signature',
  };
  if (isWellFormedSignature(signature)) return [wrong];
  const form = readings[0]?.found.map(({ what }) => what).join(', ') ?? '';
  const what = form === '' ? `the signature has ${[...signature].length} characters` : form;
  const malformed: Found = { cause: 'malformed-signature', what };
  return readings.length === 0 && wrong.cause === 'wrong-bytes' ? [malformed] : [malformed, wrong];
}
