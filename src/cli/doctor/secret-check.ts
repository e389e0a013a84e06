import { readFileSync } from 'node:fs';
import { messageOf } from '../../errors.ts';
import { isPrintable } from '../../printable.ts';
import { signBody } from '../../signing/signature.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

const SHORT = 16;

/** Judges the secret that the receiver will be given, without ever showing it. */
export function checkSecret(secretFile: string | undefined, variable = process.env['SIGNING_SECRET']): Finding {
  if (secretFile === undefined) return judgeSecret(variable ?? '', 'SIGNING_SECRET');
  try {
    // Editors end the last line of a file; that newline is no part of the secret.
    return judgeSecret(readFileSync(secretFile, 'utf8').replace(/\r?\n$/, ''), secretFile);
  } catch (failure) {
    return problem('secret', `hookbox cannot read the file: ${messageOf(failure)}`, 'Use a different --secret-file.');
  }
}

function judgeSecret(secret: string, where: string): Finding {
  if (secret === '') {
    const advice = 'Set SIGNING_SECRET to the signing secret from the dashboard, or pass --secret-file.';
    return problem('secret', `${where} is missing or empty`, advice);
  }
  try {
    signBody('', secret);
  } catch (failure) {
    return problem('secret', `${where}: ${messageOf(failure)}`, 'Use the signing secret from the dashboard.');
  }
  const odd = oddity(secret);
  if (odd === null) return ok('secret', `${where} is set`);
  return warning('secret', `the secret in ${where} ${odd}`, 'Compare this secret with the secret in the dashboard.');
}

function oddity(secret: string): string | null {
  if (secret.trim() !== secret) return 'begins or ends with white space, which hookbox treats as part of the secret';
  if (/^(["'`]).*\1$/s.test(secret)) return 'has quotation marks around it, which are part of the secret';
  if (/[^\S ]/.test(secret) || !isPrintable(secret)) return 'contains invisible characters';
  if (/[^\x20-\x7e]/.test(secret)) return 'contains non-ASCII characters';
  if (/^\$\{?\w+\}?$|^<.*>$/.test(secret)) return 'looks like a placeholder';
  return secret.length < SHORT ? `has fewer than ${SHORT} characters` : null;
}
