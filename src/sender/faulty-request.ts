import type { Agent } from 'node:http';
import { messageOf } from '../errors.ts';
import type { Secret } from '../signature.ts';
import { deliver } from './deliver.ts';
import { isWireFault, tamperedBody, tamperedSignature, type Fault } from './faults.ts';

export interface SignedBody {
  readonly body: Uint8Array;
  readonly signature: string | null;
}

/** What the sender saw of a request: a status, or none; and why it has failed, or `null`. */
export interface Seen {
  readonly status: number | null;
  readonly why: string | null;
}

export interface RequestOptions {
  readonly secret: Secret;
  readonly agent: Agent;
  readonly timeoutMs?: number;
}

/** Sends a signed body with the faults it is to have. Never rejects. */
export async function requestWith(
  faults: readonly Fault[],
  url: URL,
  signed: SignedBody,
  options: RequestOptions,
): Promise<Seen> {
  const { body, signature } = faults.reduce(tampered, signed);
  const fault = faults.find(isWireFault);
  try {
    const { status } = await deliver(url, body, { ...options, signature, ...(fault && { fault }) });
    return { status, why: whyFailed(status) };
  } catch (failure) {
    return { status: null, why: messageOf(failure) };
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

/** A 2xx is success, and nothing else is (interface 6.4). */
function whyFailed(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? `answered ${status}, and redirects are not followed` : `answered ${status}`;
}
