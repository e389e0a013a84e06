import { statfsSync } from 'node:fs';
import { platform } from 'node:os';
import { mountedType } from './mounts.ts';

/** Magic numbers of statfs(2) on Linux. */
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
/** FUSE carries local file systems too, so there the name decides. */
const NETWORK_FUSE =
  /^fuse\.(sshfs|s3fs|gcsfuse|glusterfs|rclone|davfs|goofys|mount-s3|blobfuse2?|juicefs|cephfs|ossfs|smbnetfs|curlftpfs|nfs)/;

/**
 * Names the network file system that a folder is on, or `null`. SQLite's locks and its shared memory do not hold between
 * machines, so an inbox there would be corrupted sooner or later.
 */
export function networkFileSystem(folder: string): string | null {
  if (/^(\\\\|\/\/)[^?./\\]/.test(folder)) return 'network share';
  if (platform() !== 'linux') return null;
  const magic = magicOf(folder);
  if (magic === null) return null;
  if (magic !== FUSE_MAGIC) return NETWORK_MAGICS.get(magic) ?? null;
  const type = mountedType(folder);
  return type !== null && NETWORK_FUSE.test(type) ? type : null;
}

/** `null` where a sandbox, such as Deno's, does not let us ask. */
function magicOf(folder: string): number | null {
  try {
    // It is reported as a signed number on some architectures.
    return statfsSync(folder).type >>> 0;
  } catch {
    return null;
  }
}
