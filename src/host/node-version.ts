const NEEDED = [22, 14] as const;

/** Runs before better-sqlite3 is loaded, which crashes on Node 20. Bun, Deno and workerd report a Node version that passes. */
export function nodeTooOld(version: string = process.versions.node): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
  return enough ? null : `hookbox needs Node ${NEEDED.join('.')} or newer; this is Node ${version}.`;
}
