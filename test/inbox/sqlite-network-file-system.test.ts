import type * as FileSystem from 'node:fs';
import type * as OperatingSystem from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { InboxOpenError } from '../../src/errors.ts';
import { mountedType, mountsIn, networkFileSystem } from '../../src/inbox/sqlite/opening/usable-file.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';

const pretended = vi.hoisted((): { magic: number | null; mounts: string | null } => ({ magic: null, mounts: null }));

vi.mock('node:os', async (original) => ({ ...(await original<typeof OperatingSystem>()), platform: () => 'linux' }));
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof FileSystem>();
  return {
    ...fs,
    statfsSync: (path: string) => (pretended.magic === null ? fs.statfsSync(path) : { type: pretended.magic }),
    readFileSync: (path: string, encoding: 'utf8') =>
      path === '/proc/self/mounts' ? (pretended.mounts ?? '') : fs.readFileSync(path, encoding),
  };
});

afterEach(() => {
  pretended.magic = null;
  pretended.mounts = null;
});

const EXT4 = 0xef53;
const FUSE = 0x65735546;

describe('networkFileSystem', () => {
  it.each([
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
  ])('knows %i by its magic number as %s', (magic, name) => {
    pretended.magic = magic;
    expect(networkFileSystem('/data')).toBe(name);
  });

  it('knows a magic number that is reported as a negative one', () => {
    pretended.magic = 0xfe534d42 - 2 ** 32;
    expect(networkFileSystem('/data')).toBe('SMB2');
  });

  it.each([
    ['ext4', EXT4],
    ['XFS', 0x58465342],
    ['Btrfs', 0x9123683e],
    ['ZFS', 0x2fc12fc1],
    ['tmpfs', 0x01021994],
    ['overlayfs', 0x794c7630],
  ])('lets a local disk pass: %s', (_, magic) => {
    pretended.magic = magic;
    expect(networkFileSystem('/data')).toBeNull();
  });

  it.each(['sshfs', 's3fs', 'gcsfuse', 'glusterfs', 'rclone', 'mount-s3', 'blobfuse', 'blobfuse2', 'juicefs'])(
    'knows what FUSE carries by its name: fuse.%s',
    (name) => {
      pretended.magic = FUSE;
      pretended.mounts = `/dev/vda / ext4 rw 0 0\nremote:/x /data fuse.${name} rw 0 0\n`;
      expect(networkFileSystem('/data/shop')).toBe(`fuse.${name}`);
    },
  );

  it.each(['fuseblk', 'fuse.ntfs-3g', 'fuse.fuse-overlayfs', 'fuse.gocryptfs', 'fuse.grpcfuse'])(
    'lets FUSE pass where it carries a local disk: %s',
    (type) => {
      pretended.magic = FUSE;
      pretended.mounts = `/dev/vda / ext4 rw 0 0\n/dev/sdb1 /data ${type} rw 0 0\n`;
      expect(networkFileSystem('/data/shop')).toBeNull();
    },
  );

  it('lets FUSE pass where the mounts cannot be read', () => {
    pretended.magic = FUSE;
    pretended.mounts = '';
    expect(networkFileSystem('/data')).toBeNull();
  });

  it.each(['\\\\server\\share\\shop', '//server/share/shop'])('knows a share of Windows by its path: %s', (path) => {
    pretended.magic = EXT4;
    expect(networkFileSystem(path)).toBe('network share');
  });

  it.each(['\\\\?\\C:\\shop', '\\\\.\\C:\\shop', '/data//shop'])('lets a local path pass: %s', (path) => {
    pretended.magic = EXT4;
    expect(networkFileSystem(path)).toBeNull();
  });
});

describe('mountedType', () => {
  const text = [
    '/dev/vda / ext4 rw,relatime 0 0',
    'proc /proc proc rw 0 0',
    'host:/export /mnt nfs4 rw 0 0',
    '/dev/vdb /mnt/local xfs rw 0 0',
    'remote:/x /mnt/with\\040space fuse.sshfs rw 0 0',
    'remote:/y /mnt/tab\\011and\\134backslash fuse.s3fs rw 0 0',
    'remote:/z /mnt/line\\012break fuse.rclone rw 0 0',
    '',
  ].join('\n');

  it.each([
    ['/', 'ext4'],
    ['/home/shop', 'ext4'],
    ['/mnt', 'nfs4'],
    ['/mnt/shop', 'nfs4'],
    ['/mnt/local', 'xfs'],
    ['/mnt/local/shop', 'xfs'],
  ])('%s is on the longest mount point that holds it: %s', (folder, type) => {
    expect(mountedType(folder, mountsIn(text))).toBe(type);
  });

  it.each([
    ['/mntother', 'ext4'],
    ['/mnt/localother', 'nfs4'],
  ])('%s is not on a mount point whose name only begins alike: %s', (folder, type) => {
    expect(mountedType(folder, mountsIn(text))).toBe(type);
  });

  it.each([
    ['/mnt/with space/shop', 'fuse.sshfs'],
    ['/mnt/tab\tand\\backslash', 'fuse.s3fs'],
    ['/mnt/line\nbreak', 'fuse.rclone'],
  ])('%j is found behind its octal escapes: %s', (folder, type) => {
    expect(mountedType(folder, mountsIn(text))).toBe(type);
  });

  it('takes what was mounted last where two share a mount point', () => {
    expect(mountedType('/mnt/x', mountsIn(`${text}tmpfs /mnt tmpfs rw 0 0\n`))).toBe('tmpfs');
  });

  it('is null where nothing is said', () => {
    expect(mountedType('/data', mountsIn(''))).toBeNull();
    expect(mountedType('/data', mountsIn('proc /proc proc rw 0 0\n\nbroken\n'))).toBeNull();
  });
});

describe('an inbox on a network file system', () => {
  it.each([
    ['NFS', 0x6969, null],
    ['SMB2', 0xfe534d42, null],
    ['9P', 0x01021997, null],
    ['fuse.sshfs', FUSE, 'remote:/ / fuse.sshfs rw 0 0\n'],
  ])('is refused with its name and what to do: %s', (name, magic, mounts) => {
    const folder = scratchFolder();
    const database = merchantDatabase(join(folder, 'merchant.db'));
    pretended.magic = magic;
    pretended.mounts = mounts;
    for (const source of [join(folder, 'shop.db'), { database }]) {
      const open = () => sqliteInbox(source);
      expect(open).toThrow(InboxOpenError);
      expect(open).toThrow(expect.objectContaining({ code: 'NETWORK_FILE_SYSTEM' }));
      expect(open).toThrow(new RegExp(`${folder}.*\\(${name}\\).*Use a path on a local disk`));
    }
  });

  it('is a matter of the real folder, not of this test: without pretending it opens', async () => {
    await using inbox = sqliteInbox(join(scratchFolder(), 'shop.db'));
    expect(await inbox.list()).toEqual([]);
  });
});
