import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { devNull, platform } from 'node:os';
import { dirname } from 'node:path';
import { InboxOpenError } from '../../../errors.ts';

const { R_OK, W_OK, X_OK } = constants;

/** @throws InboxOpenError if SQLite could not use a file at this path */
export function assertUsable(file: string): void {
  const folder = dirname(file);
  if (!existsSync(folder)) {
    const why = whyHidden(file);
    if (why !== null) throw new InboxOpenError('CANNOT_OPEN', `${file} cannot be opened: ${why}`);
    throw new InboxOpenError(
      'FOLDER_MISSING',
      `The folder ${folder} does not exist. Create the folder, or pass a different path.`,
    );
  }
  if (!statSync(folder).isDirectory()) {
    throw new InboxOpenError('FOLDER_MISSING', `${folder} is not a folder. Pass a path inside a folder.`);
  }
  if (existsSync(file) && statSync(file).isDirectory()) {
    throw new InboxOpenError('CANNOT_OPEN', `${file} is a folder. Pass the path of a file.`);
  }
  assertLocal(file);
}

/** @throws InboxOpenError `NETWORK_FILE_SYSTEM` */
export function assertLocal(file: string): void {
  // The file may be a link to another folder.
  const folder = existsSync(file) ? dirname(realpathSync(file)) : realpathSync(dirname(file));
  const name = networkFileSystem(folder);
  if (name === null) return;
  throw new InboxOpenError(
    'NETWORK_FILE_SYSTEM',
    `${folder} is on a network file system (${name}), where SQLite's locks do not work. Use a path on a local disk.`,
  );
}

/**
 * SQLite keeps a log beside each name of a file. With two names, two processes overwrite each other's pages. The log
 * beside a
 * mounted file is lost with its container.
 *
 * @throws InboxOpenError `MOUNTED_FILE` or `SEVERAL_NAMES`
 */
export function assertOneName(path: string): void {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  const file = realpathSync(path);
  const points = new Set(mounts().map(({ point }) => point));
  const mounted = [file, `${file}-wal`, `${file}-shm`].find((name) => points.has(name));
  if (mounted !== undefined) {
    throw new InboxOpenError(
      'MOUNTED_FILE',
      `${mounted} is mounted as a single file, but SQLite keeps a log, and an index of the log, beside it in ` +
        `${dirname(file)}. The log would be lost with the container, and events with it. Mount the folder instead: ` +
        'for /data/hookbox.db, use -v /srv/hookbox:/data.',
    );
  }
  if (stats.nlink > 1) {
    throw new InboxOpenError(
      'SEVERAL_NAMES',
      `${file} has ${stats.nlink} names (hard links), and SQLite keeps a log for each name: opening the file ` +
        'under another name would corrupt it. Find the other names with find -samefile, and delete them or replace ' +
        'them with copies.',
    );
  }
}

/** SQLite does not report the reason; `null` if none is found. */
export function whyNoAccess(file: string): string | null {
  if (isShortOfDescriptors()) return 'This process has no file descriptors left. Raise the limit (ulimit -n).';
  const written = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, mode: R_OK | W_OK }));
  return whyHidden(file) ?? refusal([{ path: dirname(file), mode: W_OK | X_OK }, ...written], 'cannot be written to');
}

/** `null` if this process can see whether the file exists. */
export function whyHidden(file: string): string | null {
  // The first closed folder hides its contents.
  const folders = foldersAbove(file).map((path) => ({ path, mode: X_OK }));
  return refusal(folders, 'cannot be entered');
}

export function isShortOfDescriptors(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch (failure) {
    return /^E[MN]FILE$/.test(String((failure as NodeJS.ErrnoException).code));
  }
}

function foldersAbove(path: string): readonly string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}

/** The first path decides. */
function refusal(wanted: readonly { readonly path: string; readonly mode: number }[], what: string): string | null {
  for (const { path, mode } of wanted) {
    try {
      accessSync(path, mode);
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      if (code === 'EROFS') return `${path} is on a read-only file system. Mount the file system for writing.`;
      if (code !== 'EACCES' && code !== 'EPERM') continue; // the path does not exist, or the system does not say
      const advice = 'Give this user access to the file and its folder (chown), or pass a different path.';
      return `${path} ${what}${whose(path)}. ${advice}`;
    }
  }
  return null;
}

/** A container may have no names for users. */
function whose(path: string): string {
  try {
    const { uid, gid, mode } = statSync(path);
    const user = process.geteuid?.();
    if (user === undefined) return '';
    const rights = (mode & 0o7777).toString(8).padStart(3, '0');
    return `: it belongs to user ${uid} and group ${gid} with mode ${rights}, and this process runs as user ${user}`;
  } catch {
    return ''; // in a sandbox, such as Deno's
  }
}

const NETWORK_MAGICS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x47504653, 'GPFS'],
]);
const FUSE_MAGIC = 0x65735546;
/** FUSE has local file systems, too. */
const NETWORK_FUSE =
  /^fuse\.(sshfs|s3fs|gcsfuse|glusterfs|rclone|davfs|goofys|mount-s3|blobfuse2?|juicefs|cephfs|ossfs|smbnetfs|curlftpfs|nfs)/;

/** `null` for a local file system. */
export function networkFileSystem(folder: string): string | null {
  if (/^(\\\\|\/\/)[^?./\\]/.test(folder)) return 'network share';
  if (platform() !== 'linux') return null;
  const magic = magicOf(folder);
  if (magic !== FUSE_MAGIC) return NETWORK_MAGICS.get(magic) ?? null;
  const type = mountedType(folder);
  return type !== null && NETWORK_FUSE.test(type) ? type : null;
}

function magicOf(folder: string): number {
  try {
    return statfsSync(folder).type >>> 0; // signed on some architectures
  } catch {
    return 0; // in a sandbox, such as Deno's
  }
}

interface Mount {
  readonly point: string;
  readonly type: string;
}

function mounts(): readonly Mount[] {
  try {
    return mountsIn(readFileSync('/proc/self/mounts', 'utf8'));
  } catch {
    return [];
  }
}

export function mountsIn(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, escaped = '', type = ''] = line.split(' ');
    // Spaces are octal escapes.
    const point = escaped.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    return type === '' ? [] : [{ point, type }];
  });
}

/** The longest mount point decides. */
export function mountedType(folder: string, among = mounts()): string | null {
  let best: Mount | null = null;
  for (const mount of among) {
    const { point } = mount;
    const within = point === '/' || folder === point || folder.startsWith(`${point}/`);
    if (within && point.length >= (best?.point.length ?? 0)) best = mount;
  }
  return best?.type ?? null;
}
