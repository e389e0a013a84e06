/** What can go wrong with one try. At most one of `cut`, `slow-body` and `lost-answer` at a time. */
export type Fault = TimingFault | TamperFault | WireFault;

/** When it is sent, and how often. */
export type TimingFault =
  /** sent this much later, so that others overtake it */
  | { readonly kind: 'late'; readonly ms: number }
  /** held back until the next multiple of this time, and sent together with whatever else waits for it */
  | { readonly kind: 'burst'; readonly everyMs: number }
  /** sent this many times more at the same moment */
  | { readonly kind: 'duplicate'; readonly copies: number };

/** What is changed after it was signed, so that it is no longer authentic. */
export type TamperFault =
  /** one bit of the body; `where` is from 0 to 1 */
  | { readonly kind: 'tampered-body'; readonly where: number }
  /** one digit of the signature */
  | { readonly kind: 'tampered-signature'; readonly where: number };

/** What happens to the connection. */
export type WireFault =
  /** cut in the middle of the body; `where` is from 0 to 1, and the last byte is never sent */
  | { readonly kind: 'cut'; readonly where: number }
  /** the body comes in pieces over this much real time */
  | { readonly kind: 'slow-body'; readonly ms: number }
  /** the receiver has answered, and the sender never hears it */
  | { readonly kind: 'lost-answer' };

/** The name of a fault. */
export type FaultKind = Fault['kind'];

/** Which faults the n-th try of an event has. It depends on nothing else, so that the timing of answers changes nothing. */
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
