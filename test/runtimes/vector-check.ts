import type * as hookbox from '../../src/index.ts';

export type HookboxChecks = Pick<typeof hookbox, 'parseEvent' | 'signBody' | 'verifySignature'>;

/** fixtures/signatures.json */
export interface Vector {
  readonly body_base64: string;
  readonly secrets: readonly { readonly utf8?: string; readonly hex?: string }[];
  readonly signature: string;
}

export interface Checked {
  readonly valid: boolean;
  readonly signatures: readonly string[];
  readonly parsed: unknown;
}

export function checkVector(
  { parseEvent, signBody, verifySignature }: HookboxChecks,
  { body_base64, secrets, signature }: Vector,
): Checked {
  const body = Buffer.from(body_base64, 'base64');
  const keys = secrets.map(({ utf8, hex }) => utf8 ?? Buffer.from(hex ?? '', 'hex'));
  return {
    valid: verifySignature(body, signature, keys),
    signatures: keys.map((key) => signBody(body, key)),
    parsed: JSON.parse(JSON.stringify(parseEvent(body))),
  };
}
