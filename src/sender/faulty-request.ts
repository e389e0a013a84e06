import type { Agent } from 'node:http';
import { messageOf } from '../errors.ts';
import { deliver, isSuccess, type Answer } from './deliver.ts';
import { isWireFault, tamperedBody, tamperedSignature, type Fault, type WireFault } from './faults.ts';

/** A body with the signature that is sent with it; `null` for none. */
export interface SignedBody {
  readonly body: Uint8Array;
  readonly signature: string | null;
}

/** What the sender saw of a request. */
export interface Seen {
  /** `null` without an answer */
  readonly status: number | null;
  /** why it has failed; `null` for success */
  readonly why: string | null;
  /** what was odd about an answer all the same */
  readonly note: string | null;
}

/** What all requests of a sender share. */
export interface RequestOptions {
  readonly agent: Agent;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Sends a signed body with the faults it is to have, as one request and no more. Never rejects. */
export function requestWith(
  faults: readonly Fault[],
  url: URL,
  signed: SignedBody,
  options: RequestOptions,
): Promise<Seen> {
  return sentWith(faults, signed, ({ body, signature }, fault) =>
    deliver(url, body, { ...options, signature, resend: false, ...(fault && { fault }) }),
  );
}

/** What the sender sees when a signed body is sent with faults, however it is sent. Never rejects. */
export async function sentWith(
  faults: readonly Fault[],
  signed: SignedBody,
  send: (signed: SignedBody, fault: WireFault | undefined) => Promise<Pick<Answer, 'status' | 'note'>>,
): Promise<Seen> {
  try {
    const { status, note } = await send(faults.reduce(tampered, signed), faults.find(isWireFault));
    return { status, why: whyFailed(status), note };
  } catch (failure) {
    return { status: null, why: messageOf(failure), note: null };
  }
}

function tampered(signed: SignedBody, fault: Fault): SignedBody {
  const { body, signature } = signed;
  if (fault.kind === 'tampered-body') return { body: tamperedBody(body, fault.where), signature };
  if (fault.kind === 'tampered-signature' && signature !== null) {
    return { body, signature: tamperedSignature(signature, fault.where) };
  }
  return signed;
}

function whyFailed(status: number): string | null {
  if (isSuccess(status)) return null;
  return status >= 300 && status < 400
    ? `answered ${status}, but hookbox does not follow redirects`
    : `answered ${status}`;
}
