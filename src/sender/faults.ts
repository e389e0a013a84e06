/** A fault in one attempt. An attempt has at most one of `cut`, `slow-body` and `lost-answer`. */
export type Fault = TimingFault | TamperFault | WireFault;

/** A fault in the time or the number of deliveries. */
export type TimingFault =
  /** Sent this many milliseconds later, so that other deliveries overtake it. */
  | { readonly kind: 'late'; readonly ms: number }
  /** Sent at the next multiple of this time, in milliseconds, together with other held deliveries. */
  | { readonly kind: 'burst'; readonly everyMs: number }
  /** Sent this many more times at the same moment. */
  | { readonly kind: 'duplicate'; readonly copies: number };

/** A change after signing, so that the delivery is not authentic. */
export type TamperFault =
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

/**
 * Returns the faults of one attempt to deliver an event. The result depends only on the arguments, so a run is
 * repeatable.
 */
export type FaultPlan = (id: string, attempt: number) => readonly Fault[];

/** Nothing goes wrong. */
export const noFaults: FaultPlan = () => [];

/** Whether a try with this fault cannot succeed. */
export function isFailing({ kind }: Fault): boolean {
  return kind === 'tampered-body' || kind === 'tampered-signature' || kind === 'cut' || kind === 'lost-answer';
}

/** Whether the fault is one of the connection. */
export function isWireFault(fault: Fault): fault is WireFault {
  return fault.kind === 'cut' || fault.kind === 'slow-body' || fault.kind === 'lost-answer';
}

/** When a try is sent that would be due at a time. */
export function delayedBy(faults: readonly Fault[], dueAt: number): number {
  let at = dueAt;
  for (const fault of faults) {
    if (fault.kind === 'late') at += fault.ms;
    if (fault.kind === 'burst') at = Math.ceil(at / fault.everyMs) * fault.everyMs;
  }
  return at;
}

/** How often a try is sent beside itself. */
export function copiesIn(faults: readonly Fault[]): number {
  return faults.reduce((copies, fault) => (fault.kind === 'duplicate' ? copies + fault.copies : copies), 0);
}

/** The body with one bit changed. */
export function tamperedBody(body: Uint8Array, where: number): Uint8Array {
  const changed = Uint8Array.from(body);
  const at = Math.min(Math.floor(body.byteLength * where), body.byteLength - 1);
  const byte = changed[at];
  if (byte !== undefined) changed[at] = byte ^ 1;
  return changed;
}

/** The signature with one digit changed, and still well formed. */
export function tamperedSignature(signature: string, where: number): string {
  const at = Math.min(Math.floor(signature.length * where), signature.length - 1);
  const digit = signature[at] === '0' ? '1' : '0';
  return signature.slice(0, at) + digit + signature.slice(at + 1);
}
