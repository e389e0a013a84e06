import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { OWNER_ONLY } from '../../host/files.ts';

/** Returns why other users could read the token; `null` if they cannot. */
export function keepToken(port: number, token: string): string | null {
  try {
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    refuseFolderOfOthers();
    removeLeft();
    const file = fileOf(port);
    rmSync(file, { force: true }); // left by a sandbox that was killed
    writeFileSync(file, [token, process.pid, namespace()].join('\n'), { mode: OWNER_ONLY, flag: 'wx' });
    return null;
  } catch (failure) {
    return messageOf(failure);
  }
}

/** Removes the file, unless another sandbox has replaced it. */
export function dropToken(port: number, token: string): void {
  if (tokenOf(port) === token) rmSync(fileOf(port), { force: true });
}

/**
 * The token of this user's sandbox on a port; `null` without one. A file that another user may have written does not
 * count, because that user would receive the messages for the sandbox, such as a signing secret.
 */
export function tokenOf(port: number): string | null {
  try {
    refuseFolderOfOthers();
    return read(fileOf(port)).token;
  } catch {
    return null;
  }
}

const NAME = 'sandbox-';

function fileOf(port: number): string {
  return join(folder(), NAME + port);
}

function removeLeft(): void {
  for (const name of readdirSync(folder())) {
    if (!name.startsWith(NAME)) continue;
    const file = join(folder(), name);
    try {
      if (isLeft(file)) rmSync(file, { force: true });
    } catch {
      continue; // another sandbox has removed it, or it is not a file
    }
  }
}

function isLeft(file: string): boolean {
  const { pid, seenFrom } = read(file);
  return Number.isSafeInteger(pid) && pid > 0 && seenFrom === namespace() && !isAlive(pid);
}

function read(file: string): { readonly token: string; readonly pid: number; readonly seenFrom: string } {
  const [token = '', pid = '', seenFrom = ''] = readFileSync(file, 'utf8').split('\n');
  return { token, pid: Number(pid), seenFrom };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (failure) {
    return (failure as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Containers may share a temporary folder, but cannot see each other's processes. */
function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return hostname();
  }
}

function folder(): string {
  return join(tmpdir(), `hookbox-${process.getuid?.() ?? userInfo().username}`);
}

/** Other users can write to the temporary folder, so one of them may have created the folder first. */
function refuseFolderOfOthers(): void {
  if (process.getuid === undefined) return; // on Windows, the temporary folder belongs to the user
  const { uid, mode } = lstatSync(folder());
  if (uid !== process.getuid() || (mode & 0o77) !== 0)
    throw new Error(`${folder()} belongs to another user or is open to others`);
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a message between a sandbox and its user with the sandbox's token. Another user's program may own the port
 * now: without the token, it can neither read nor answer the message.
 *
 * @param context - identifies the request; the other side needs the same text to decrypt
 */
export function seal(token: string, message: string, context = ''): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(token), iv).setAAD(Buffer.from(context));
  const encrypted = Buffer.concat([cipher.update(message, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), encrypted]).toString('base64url');
}

/** Decrypts the result of `seal`; `null` for another token, another context or a changed text. */
export function unseal(token: string, sealed: string, context = ''): string | null {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return null;
  const iv = bytes.subarray(0, IV_BYTES);
  const decipher = createDecipheriv(CIPHER, keyOf(token), iv, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

function keyOf(token: string): Buffer {
  return createHash('sha256').update(`hookbox sandbox ${token}`).digest();
}
