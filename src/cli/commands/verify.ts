import type { Command } from 'commander';
import { command } from '../command.ts';
import { EXIT, usageError } from '../exit.ts';
import { print, printJson } from '../output.ts';
import { secretOf, withSecret, type SecretOptions } from '../secret.ts';

interface VerifyOptions extends SecretOptions {
  readonly signature: string;
  readonly json?: boolean;
}

export function verifyCommand(): Command {
  const verify = command('verify', 'tell whether a signature is that of a body', [
    'hookbox verify body.json --signature "$(cat signature.txt)"',
  ])
    .argument('<file>', 'the body, byte for byte; - for standard input')
    .requiredOption('--signature <hex>', 'the value of X-Signature')
    .option('--json', 'print the verdict as JSON');
  return withSecret(verify).action(async (file: string, options: VerifyOptions) => {
    if (options.signature === '') throw usageError('--signature is empty.');
    const [{ readInput }, { verifySignature }] = await Promise.all([
      import('../read-input.ts'),
      import('../../signature.ts'),
    ]);
    const right = verifySignature(await readInput(file), options.signature, await secretOf(options));
    if (options.json === true) printJson({ valid: right });
    else print(right ? 'valid' : 'not valid');
    if (!right) process.exitCode = EXIT.failed;
  });
}
