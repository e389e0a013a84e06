import { createHash } from 'node:crypto';
import { explainMismatch, type Explanation, type Mismatch } from './explain/explain-mismatch.ts';
import { print, printJson, styled } from '../shared/output.ts';
import { readInput } from '../shared/files.ts';
import { secretOf } from '../shared/secret.ts';

interface ExplainOptions {
  readonly also?: readonly string[];
  readonly oldSecretFile?: string;
  readonly json?: boolean;
}

/** Prints why a signature is not that of a body. */
export async function printExplanation(
  mismatch: Pick<Mismatch, 'body' | 'signature' | 'secret'>,
  { also = [], oldSecretFile, json }: ExplainOptions,
): Promise<void> {
  const others = [];
  for (const name of also) others.push({ name, body: await readInput(name) });
  const oldSecrets = await oldSecretsOf(oldSecretFile);
  const explanation = explainMismatch({ ...mismatch, others, oldSecrets });
  const body = {
    bytes: mismatch.body.byteLength,
    sha256: createHash('sha256').update(mismatch.body).digest('hex'),
  };
  if (json === true) printJson({ ...explanation, body });
  else print(asText(explanation, body, others.length > 0, oldSecrets.length > 0));
}

async function oldSecretsOf(secretFile: string | undefined): Promise<readonly string[]> {
  const variable = process.env['SIGNING_SECRET_OLD'];
  const named = secretFile === undefined ? [] : [await secretOf({ secretFile })];
  return variable === undefined || variable === '' ? named : [...named, variable];
}

function asText(
  { mistakes, explained, tried }: Explanation,
  body: { readonly bytes: number; readonly sha256: string },
  hasOthers: boolean,
  hasOldSecrets: boolean,
): readonly string[] {
  const parts = mistakes.map(({ cause, what, meaning, fix }) => [
    '',
    `${styled('bold', cause)}: ${what}`,
    `  ${sentence(meaning)}`,
    `  To do: ${fix}`,
  ]);
  if (!explained) {
    const numbers = `${tried.bodies} forms of the body, ${tried.secrets} forms of the secret, ${tried.schemes} ways to sign`;
    const pairs = tried.complete ? 'and every pair of these' : 'and as many pairs as time allowed';
    const more = [
      ...(hasOldSecrets ? [] : ['a secret from before a rotation (--old-secret-file)']),
      ...(hasOthers ? [] : ['other bodies (--also)']),
    ];
    parts.push([
      '',
      ...(tried.signatures === 0 ? [] : [`Tried: ${numbers}, ${pairs}: ${tried.causes.join(', ')}.`]),
      ...(more.length === 0 ? [] : [`Not tried: ${more.join(', ')}.`]),
      `Your body has ${body.bytes} bytes and the SHA-256 ${body.sha256}.`,
    ]);
  }
  return ['not valid', ...parts.flat()];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
