import { signBody } from '../signing/signature.ts';
import { noteWhenEmpty, readInput } from './shared/files.ts';
import { print } from './shared/output.ts';
import { secretOf, type SecretOptions } from './shared/secret.ts';

export async function sign(file: string, options: SecretOptions): Promise<void> {
  const body = await readInput(file);
  noteWhenEmpty(body);
  print(signBody(body, await secretOf(options)));
}
