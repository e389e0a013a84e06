import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { EXIT, usageError, print, printJson, tell } from '../shared/output.ts';
import { secretOf, withSecret, type SecretOptions } from '../shared/secret.ts';

interface VerifyOptions extends SecretOptions {
  readonly signature: string;
  readonly explain?: boolean;
  readonly also?: readonly string[];
  readonly oldSecretFile?: string;
  readonly json?: boolean;
}

/** `hookbox verify` */
export function verifyCommand(): Command {
  const verify = command('verify', 'check the signature of a body; --explain looks for the cause of a mismatch', [
    'hookbox verify body.json --signature "$(cat signature.txt)"',
    'hookbox verify body.json --signature 5f3a… --explain',
    'hookbox verify body.json --signature 5f3a… --explain --old-secret-file old.txt --also other.json',
  ])
    .argument('<file>', 'the file that contains the body, or - for standard input')
    .requiredOption('--signature <hex>', 'the value of X-Signature')
    .option('--explain', 'check for common mistakes, and report which one caused the failure')
    .option('--also <file...>', 'with --explain, also try the bodies in these files')
    .option(
      '--old-secret-file <path>',
      'with --explain, also try the old secret (from before a rotation) in this file; SIGNING_SECRET_OLD is also tried',
    )
    .option('--json', 'print the verdict as JSON');
  return withSecret(verify).action(async (file: string, options: VerifyOptions) => {
    if (options.signature === '') throw usageError('--signature is empty. Pass the value of X-Signature.');
    if (options.explain !== true && (options.also !== undefined || options.oldSecretFile !== undefined)) {
      throw usageError('--also and --old-secret-file work only with --explain. Add --explain.');
    }
    const [{ noteWhenEmpty, readInput }, { verifySignature }] = await Promise.all([
      import('../shared/files.ts'),
      import('../../signing/signature.ts'),
    ]);
    const body = await readInput(file);
    noteWhenEmpty(body);
    const secret = await secretOf(options);
    const valid = verifySignature(body, options.signature, secret);
    if (!valid) process.exitCode = EXIT.failed;

    if (valid || options.explain !== true) {
      if (options.json === true) printJson({ valid });
      else print(valid ? 'valid' : 'not valid');
      if (!valid) tell('Add --explain to find the cause.');
      return;
    }
    const { printExplanation } = await import('./explain-mismatch.ts');
    await printExplanation({ body, signature: options.signature, secret }, options);
  });
}
