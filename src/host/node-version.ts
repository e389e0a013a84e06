const NEEDED = [22, 14] as const;

/**
 * One line that says which Node is needed, or `null` when this one will do. Asked before better-sqlite3 is loaded,
 * whose native part ends the process with a segmentation fault on Node 20. Bun, Deno and workerd report a Node version
 * of their own that passes.
 */
export function nodeTooOld(version: string = process.versions.node): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
  return enough ? null : `hookbox needs Node ${NEEDED.join('.')} or newer; this is Node ${version}.`;
}
