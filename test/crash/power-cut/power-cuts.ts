import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { Disk, type Files } from './disk.ts';
import type { Operation } from './recording.ts';
import { ACKNOWLEDGED, DATABASE, look } from './what-is-stored.ts';

export interface PowerCuts {
  readonly disks: number;
  readonly acknowledged: number;
  readonly fault: string | null;
}

/** Cuts the power before each operation and after the last one, and checks the possible disks. */
export async function cutPower(
  operations: readonly Operation[],
  folder: string,
  random: () => number,
): Promise<PowerCuts> {
  const disk = new Disk();
  const acknowledged = new Set<string>();
  let disks = 0;
  let written: ReturnType<typeof look> | undefined;

  const faultOf = (seen: ReturnType<typeof look>): string | null => {
    disks += 1;
    const { soundness, kept } = seen;
    if (soundness !== 'ok') return `is not sound: ${String(soundness)}`;
    const lost = [...acknowledged].filter((line) => !kept.has(line));
    return lost.length === 0 ? null : `has lost of ${acknowledged.size} acknowledged: ${lost.slice(0, 5).join(', ')}`;
  };

  const faultNow = (isSync: boolean): string | null => {
    const synced = isSync ? faultOf(lookAt(disk.synced(), folder)) : null;
    if (synced !== null) return `with nothing that was not synced, the disk ${synced}`;
    const now = faultOf((written ??= lookAt(disk.now(), folder)));
    if (now !== null) return `with all that was written, the disk ${now}`;
    const torn = isSync || random() < 0.3 ? faultOf(lookAt(disk.torn(random), folder)) : null;
    return torn && `with a part of what was not synced, the disk ${torn}`;
  };

  for (const [at, operation] of operations.entries()) {
    if (at % 50 === 0) await turn();
    if (operation.name === ACKNOWLEDGED) {
      if (operation.kind === 'write') acknowledged.add(operation.bytes.toString().trimEnd());
    } else {
      const fault = faultNow(operation.kind === 'sync');
      if (fault !== null) return { disks, acknowledged: acknowledged.size, fault: `before operation ${at}, ${fault}` };
    }
    disk.do(operation);
    // A sync and an acknowledgement leave what was written as it is.
    if (operation.kind !== 'sync' && operation.name !== ACKNOWLEDGED) written = undefined;
  }
  const fault = faultNow(true);
  return { disks, acknowledged: acknowledged.size, fault: fault && `at the end, ${fault}` };
}

function lookAt(files: Files, folder: string): ReturnType<typeof look> {
  if (!files.has(DATABASE)) return { soundness: 'ok', kept: new Set() };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, bytes] of files) {
    if (name !== ACKNOWLEDGED) writeFileSync(join(folder, name), bytes);
  }
  try {
    return look(join(folder, DATABASE), !files.has(`${DATABASE}-journal`));
  } catch (failure) {
    return { soundness: failure, kept: new Set() };
  }
}
