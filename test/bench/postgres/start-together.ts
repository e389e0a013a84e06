import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a script in several processes that begin to work at the same time (`atOnce`), and gives what each has measured. */
export async function startTogether(
  script: URL,
  args: readonly string[],
  processes: number,
): Promise<readonly unknown[]> {
  const children = Array.from({ length: processes }, () =>
    fork(fileURLToPath(script), args, { env: { ...process.env, NODE_ENV: 'production' } }),
  );
  const ended = children.map((child) => once(child, 'exit'));
  const saysNext = (child: (typeof children)[number], n: number): Promise<unknown> =>
    Promise.race([
      once(child, 'message').then(([message]: unknown[]) => message),
      ended[n]?.then(() => Promise.reject(new Error(`${fileURLToPath(script)} ended before it was done.`))),
    ]);
  try {
    await Promise.all(children.map(saysNext));
    const results = Promise.all(children.map(saysNext));
    for (const child of children) child.send('begin');
    const all = await results;
    await Promise.all(ended);
    return all;
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

/** In such a process: everything is ready; measures when the others are, too, and tells. */
export async function atOnce(measure: () => Promise<unknown>): Promise<void> {
  process.send?.('ready');
  await once(process, 'message');
  const measured = await measure();
  await new Promise((sent) => process.send?.(measured, sent));
  process.disconnect();
}
