import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { CommandError, EXIT, tell } from '../../shared/output.ts';
import { firstSignal, type StopSignal } from '../../shared/interruption.ts';
import { requireFile } from '../../shared/files.ts';
import { fileWatch } from './file-watch.ts';

/** What tells the other process to end as a signal would. */
export const STOP = 'stop';

/**
 * Runs `serve` in a process of its own, and anew each time when its handlers or what they import has changed: a module
 * that was imported stays as it was for as long as its process lives. One that has ended with an error waits for the
 * change that mends it.
 *
 * @param args - what starts it there
 * @returns the signal that ended it all
 * @throws CommandError when there are no handlers
 */
export async function watchServe(file: string, args: readonly string[]): Promise<StopSignal> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CommandError(`The file ${file} does not exist.`, EXIT.notFound);
  requireFile(path);
  const stopped = firstSignal();
  using watch = fileWatch();
  watch.add(path);
  for (;;) {
    const changed = watch.next();
    const child = started(args, (imported) => watch.add(imported));
    const ended = once(child, 'exit').then(([code]) => code as number | null);
    const change = changed.then((path) => {
      tell(`${relative('', path)} changed. Restarting.`);
      return 'change' as const;
    });
    const first = await Promise.race([stopped, change, ended.then(asEnd)]);
    if (first === 'interrupted') return 'SIGINT'; // its reader went away
    if (first === 'ended')
      tell(`The process ended. Waiting for a change to ${file} or to a file that it imports. Press Ctrl-C to stop.`);
    else if (child.connected) child.send(STOP);
    await ended;
    // Where nothing has changed, that is waited for; a signal may have come meanwhile.
    const next = await Promise.race([stopped, change]);
    if (next !== 'change') return next;
  }
}

function asEnd(code: number | null): 'ended' | 'interrupted' {
  return code === EXIT.interrupted ? 'interrupted' : 'ended';
}

function started(args: readonly string[], imported: (path: string) => void): ChildProcess {
  const [, script = ''] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', (path) => {
    if (typeof path === 'string') imported(path);
  });
  // On the second signal, which does not wait.
  const kill = (): void => void child.kill('SIGKILL');
  process.on('exit', kill);
  child.on('exit', () => process.off('exit', kill));
  return child;
}
