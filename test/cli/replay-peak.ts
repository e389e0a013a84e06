import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { listening, type Listening } from './listening.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';

/** A replay that has ended, with the peak of its resident memory as the process itself has it. */
export interface MeasuredReplay extends Ran {
  readonly peakKiB: number;
}

/** Replays all of `hookbox.db` in a folder, with a progress bar as on a terminal. */
export async function replayAll(folder: string, url: string): Promise<MeasuredReplay> {
  const noting = join(folder, 'note-peak.mjs');
  const peak = join(folder, 'peak');
  writeFileSync(
    noting,
    `import { writeFileSync } from 'node:fs';
    process.stderr.isTTY = true;
    process.on('exit', () => writeFileSync(process.env.PEAK_FILE, String(process.resourceUsage().maxRSS)));`,
  );
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(noting).href}`, PEAK_FILE: peak };
  const args = ['replay', '--all', '--quiet', '--concurrency', '16', '--to', url];
  const ran = await runHookbox(args, { cwd: folder, env });
  return { ...ran, peakKiB: Number(readFileSync(peak, 'utf8')) };
}

export function acceptingServer(): Promise<Listening> {
  return listening((request, response) => {
    request.resume();
    request.on('end', () => response.end('{"received":true,"duplicate":false,"id":"?"}'));
  });
}
