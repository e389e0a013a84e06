import { signBody, type Secret } from '../signing/signature.ts';
import { tamperedSignature } from './faults.ts';
import type { SignedBody } from './faulty-request.ts';

type Forge = (body: Uint8Array, secret: Secret) => SignedBody;

/** What a stranger may send who does not know the secret, or who changes what others sent. */
const FORGE = {
  'changed-body': (body, secret) => ({ body: withOtherDigit(body), signature: signBody(body, secret) }),
  'changed-signature': (body, secret) => ({ body, signature: tamperedSignature(signBody(body, secret), 0) }),
  unsigned: (body) => ({ body, signature: null }),
  'empty-signature': (body) => ({ body, signature: '' }),
  'other-secret': (body) => ({ body, signature: signBody(body, 'a guessed secret') }),
  uppercase: (body, secret) => ({ body, signature: uppercaseOf(body, secret) }),
  prefixed: (body, secret) => ({ body, signature: `sha256=${signBody(body, secret)}` }),
  truncated: (body, secret) => ({ body, signature: signBody(body, secret).slice(0, 32) }),
} as const satisfies Record<string, Forge>;

/** One way to forge a delivery. */
export type Forgery = keyof typeof FORGE;

/** Every way. */
export const FORGERIES = Object.keys(FORGE) as readonly Forgery[]; // the keys of the record above

/** A body and a signature that a receiver must answer 401. */
export function forged(body: Uint8Array, secret: Secret, how: Forgery): SignedBody {
  return FORGE[how](body, secret);
}

/** The last digit becomes another: still a sound event, with another amount or time, and no longer what was signed. */
function withOtherDigit(body: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(body);
  const at = changed.findLastIndex((byte) => byte >= 0x30 && byte <= 0x39);
  if (at === -1) return Uint8Array.from([...body, 0x20]);
  changed[at] = changed[at] === 0x31 ? 0x32 : 0x31;
  return changed;
}

/** A signature without letters would be right: then one digit is wrong instead. */
function uppercaseOf(body: Uint8Array, secret: Secret): string {
  const signature = signBody(body, secret);
  const upper = signature.toUpperCase();
  return upper === signature ? tamperedSignature(signature, 0) : upper;
}
