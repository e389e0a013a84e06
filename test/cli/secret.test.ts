import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { prompted } from '../../src/cli/shared/secret.ts';

async function typed(keys: string): Promise<{ readonly answer: Promise<string>; readonly shown: () => string }> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const answer = prompted('Signing secret: ', input, output);
  input.write(keys);
  await answer.catch(() => {});
  return { answer, shown: () => String(output.read()) };
}

it('takes a line, and shows nothing of it', async () => {
  const { answer, shown } = await typed('whsec_1\r');
  expect(await answer).toBe('whsec_1');
  expect(shown()).toBe('Signing secret: \n');
});

it('ends with 130 on Ctrl-C', async () => {
  const { answer } = await typed('whs\u0003');
  await expect(answer).rejects.toMatchObject({ name: 'CommandError', exitCode: 130 });
});

it('ends with 2 on Ctrl-D', async () => {
  const { answer } = await typed('\u0004');
  await expect(answer).rejects.toMatchObject({
    message: 'The secret is empty. Type the signing secret.',
    exitCode: 2,
  });
});
