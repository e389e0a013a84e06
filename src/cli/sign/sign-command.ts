import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { print } from '../shared/output.ts';
import { secretOf, withSecret, type SecretOptions } from '../shared/secret-option.ts';

/** `hookbox sign` */
export function signCommand(): Command {
  const sign = command('sign', 'print the signature of a body', [
    'hookbox sign body.json',
    'curl -H "X-Signature: $(hookbox sign body.json)" --data-binary @body.json http://localhost:3000/webhooks',
    'cat body.json | hookbox sign -',
  ]).argument('<file>', 'the file that contains the body, or - for standard input');
  return withSecret(sign).action(async (file: string, options: SecretOptions) => {
    const [{ noteWhenEmpty, readInput }, { signBody }] = await Promise.all([
      import('../shared/read-input.ts'),
      import('../../signing/signature.ts'),
    ]);
    const body = await readInput(file);
    noteWhenEmpty(body);
    print(signBody(body, await secretOf(options)));
  });
}
