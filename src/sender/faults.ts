import { ConfigurationError } from '../errors.ts';
import { signBody, type Secret } from '../signing/signature.ts';

/** A fault in one attempt. An attempt has at most one of `cut`, `slow-body` and `lost-answer`. */
export type Fault = TimingFault | TamperFault | WireFault;

/** A fault in the time or the number of deliveries. */
type TimingFault =
  /** Sent this many milliseconds later, so that other deliveries overtake it. */
  | { readonly kind: 'late'; readonly ms: number }
  /** Sent at the next multiple of this time, in milliseconds, together with other held deliveries. */
  | { readonly kind: 'burst'; readonly everyMs: number }
  /** Sent this many more times at the same moment. */
  | { readonly kind: 'duplicate'; readonly copies: number };

/** A change after signing, so that the delivery is not authentic. */
type TamperFault =
  /** Changes one bit of the body; `where` is 0 to 1. */
  | { readonly kind: 'tampered-body'; readonly where: number }
  /** Changes one digit of the signature; `where` is 0 to 1. */
  | { readonly kind: 'tampered-signature'; readonly where: number };

/** A fault in the connection. */
export type WireFault =
  /** Cuts the connection within the body; `where` is 0 to 1. The last byte is never sent. */
  | { readonly kind: 'cut'; readonly where: number }
  /** Sends the body in pieces over this many milliseconds of real time. */
  | { readonly kind: 'slow-body'; readonly ms: number }
  /** The receiver responds, but the sender does not get the response. */
  | { readonly kind: 'lost-answer' };

/** The kind of a delivery fault. */
export type FaultKind = Fault['kind'];

/** Returns the faults of one attempt to deliver an event. The result must depend only on the arguments. */
export type FaultPlan = (id: string, attempt: number) => readonly Fault[];

export const noFaults: FaultPlan = () => [];

export function isFailing({ kind }: Fault): boolean {
  return kind === 'tampered-body' || kind === 'tampered-signature' || kind === 'cut' || kind === 'lost-answer';
}

export function isWireFault(fault: Fault): fault is WireFault {
  return fault.kind === 'cut' || fault.kind === 'slow-body' || fault.kind === 'lost-answer';
}

export function delayedBy(faults: readonly Fault[], dueAt: number): number {
  let at = dueAt;
  for (const fault of faults) {
    if (fault.kind === 'late') at += fault.ms;
    if (fault.kind === 'burst') at = Math.ceil(at / fault.everyMs) * fault.everyMs;
  }
  return at;
}

export function copiesIn(faults: readonly Fault[]): number {
  return faults.reduce((copies, fault) => (fault.kind === 'duplicate' ? copies + fault.copies : copies), 0);
}

export function tamperedBody(body: Uint8Array, where: number): Uint8Array {
  const changed = Uint8Array.from(body);
  const at = Math.min(Math.floor(body.byteLength * where), body.byteLength - 1);
  const byte = changed[at];
  if (byte !== undefined) changed[at] = byte ^ 1;
  return changed;
}

/** Changes one digit; the signature is still well formed. */
export function tamperedSignature(signature: string, where: number): string {
  const at = Math.min(Math.floor(signature.length * where), signature.length - 1);
  const digit = signature[at] === '0' ? '1' : '0';
  return signature.slice(0, at) + digit + signature.slice(at + 1);
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Interface 6.4; "immediately" is the first. */
const RETRY_AFTER_MS = [0, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS] as const;

export const MAX_ATTEMPTS = RETRY_AFTER_MS.length + 1;

export function retryAfter(attempt: number): number | null {
  return RETRY_AFTER_MS[attempt - 1] ?? null;
}

export interface RandomFaultOptions {
  readonly seed: number;
  readonly count: number;
  readonly ids: readonly string[];
  readonly kinds?: readonly FaultKind[];
}

/** The last try has no fault, so that every event can be delivered. */
const MOST_FOR_ONE = MAX_ATTEMPTS - 1;
/** The probability of a harmless fault in addition to another. */
const BESIDE = 0.25;

/** Each takes at most a moment of real time. */
const MAKE = {
  late: (random) => ({ kind: 'late', ms: whole(random, 1_000, 600_000) }),
  burst: () => ({ kind: 'burst', everyMs: 60_000 }),
  duplicate: (random) => ({ kind: 'duplicate', copies: whole(random, 1, 3) }),
  'tampered-body': (random) => ({ kind: 'tampered-body', where: random() }),
  'tampered-signature': (random) => ({ kind: 'tampered-signature', where: random() }),
  cut: (random) => ({ kind: 'cut', where: random() }),
  'slow-body': (random) => ({ kind: 'slow-body', ms: whole(random, 10, 60) }),
  'lost-answer': () => ({ kind: 'lost-answer' }),
} as const satisfies Record<FaultKind, (random: () => number) => Fault>;

export const FAULT_KINDS = Object.keys(MAKE) as readonly FaultKind[];

const BESIDE_KINDS: readonly FaultKind[] = ['late', 'burst', 'duplicate'];

export function randomFault(kind: FaultKind, random: () => number): Fault {
  return MAKE[kind](random);
}

/** Each fault depends only on the seed, the event and the try. Only the first six tries have faults. */
export function randomFaults({ seed, count, ids, kinds = FAULT_KINDS }: RandomFaultOptions): FaultPlan {
  const failing = kinds.filter((kind) => isFailing(randomFault(kind, () => 0)));
  if (failing.length === 0) {
    const message =
      'Only a failed attempt is followed by another. Add at least one kind of fault that makes an attempt fail.';
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  const shares = sharesOf(seed, count, ids);
  const plans = new Map<string, readonly (readonly Fault[])[]>();
  for (const [id, share] of shares) plans.set(id, planned(seed, id, share, kinds, failing));
  return (id, attempt) => plans.get(id)?.[attempt - 1] ?? [];
}

function sharesOf(seed: number, count: number, ids: readonly string[]): ReadonlyMap<string, number> {
  if (count > ids.length * MOST_FOR_ONE) {
    const message =
      `${ids.length} events can have at most ${ids.length * MOST_FOR_ONE} faults (${MOST_FOR_ONE} each), not ` +
      `${count}.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  const shares = new Map<string, number>();
  let open = [...ids];
  for (let dealt = 0; dealt < count; dealt += 1) {
    const id = oneOf(seeded(seed, 'deal', dealt), open);
    const share = (shares.get(id) ?? 0) + 1;
    shares.set(id, share);
    if (share === MOST_FOR_ONE) open = open.filter((other) => other !== id);
  }
  return shares;
}

/** Each try fails except the last one with faults. */
function planned(
  seed: number,
  id: string,
  share: number,
  kinds: readonly FaultKind[],
  failing: readonly FaultKind[],
): readonly (readonly Fault[])[] {
  const plan: (readonly Fault[])[] = [];
  let left = share;
  while (left > 0) {
    const random = seeded(seed, id, plan.length + 1);
    const faults: Fault[] = [];
    for (const kind of BESIDE_KINDS) {
      if (random() >= BESIDE || left <= faults.length || !kinds.includes(kind)) continue;
      faults.push(randomFault(kind, random));
    }
    if (faults.length < left) {
      const isLast = faults.length + 1 === left;
      const possible = isLast ? kinds.filter((kind) => !faults.some((fault) => fault.kind === kind)) : failing;
      faults.push(randomFault(oneOf(random, possible), random));
    }
    plan.push(faults);
    left -= faults.length;
  }
  return plan;
}

/** Depends only on the seed and the names, not on the order of calls. */
export function seeded(seed: number, ...names: readonly (string | number)[]): () => number {
  let state = hash(`${seed}/${names.join('/')}`);
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function whole(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/** @throws RangeError for an empty list */
export function oneOf<T>(random: () => number, list: readonly T[]): T {
  if (list.length === 0) throw new RangeError('The list to choose from is empty.');
  return list[whole(random, 0, list.length - 1)] as T;
}

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function letters(random: () => number, length: number): string {
  return Array.from({ length }, () => LETTERS[whole(random, 0, LETTERS.length - 1)]).join('');
}

/** FNV-1a over UTF-16 units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}

export interface SignedBody {
  readonly body: Uint8Array;
  readonly signature: string | null;
}

type Forge = (body: Uint8Array, secret: Secret) => SignedBody;

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

export type Forgery = keyof typeof FORGE;

export const FORGERIES = Object.keys(FORGE) as readonly Forgery[];

export function forged(body: Uint8Array, secret: Secret, how: Forgery): SignedBody {
  return FORGE[how](body, secret);
}

/** The event stays valid, with another amount or time. */
function withOtherDigit(body: Uint8Array): Uint8Array {
  const changed = Uint8Array.from(body);
  const at = changed.findLastIndex((byte) => byte >= 0x30 && byte <= 0x39);
  if (at === -1) return Uint8Array.from([...body, 0x20]);
  changed[at] = changed[at] === 0x31 ? 0x32 : 0x31;
  return changed;
}

/** A signature without letters gets a wrong digit. */
function uppercaseOf(body: Uint8Array, secret: Secret): string {
  const signature = signBody(body, secret);
  const upper = signature.toUpperCase();
  return upper === signature ? tamperedSignature(signature, 0) : upper;
}
