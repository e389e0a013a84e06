import { readFileSync } from 'node:fs';

interface Mount {
  readonly point: string;
  readonly type: string;
}

/** The mounts that this process can see; empty outside of Linux and in a sandbox, where no list exists. */
export function mounts(): readonly Mount[] {
  try {
    return mountsIn(readFileSync('/proc/self/mounts', 'utf8'));
  } catch {
    return [];
  }
}

/** The mounts in the text of /proc/self/mounts. */
export function mountsIn(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, escaped = '', type = ''] = line.split(' ');
    // Spaces and the like are written as octal escapes.
    const point = escaped.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    return type === '' ? [] : [{ point, type }];
  });
}

/** The type of the file system that a folder is on; the longest mount point wins. */
export function mountedType(folder: string, among = mounts()): string | null {
  let best: Mount | null = null;
  for (const mount of among) {
    const { point } = mount;
    const within = point === '/' || folder === point || folder.startsWith(`${point}/`);
    if (within && point.length >= (best?.point.length ?? 0)) best = mount;
  }
  return best?.type ?? null;
}
