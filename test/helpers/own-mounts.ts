/**
 * Runs a command in a mount namespace of its own, where `mounting` may mount what it likes; whoever starts it must be root or
 * may make user namespaces. Without `unshare` the command ends before it says anything.
 *
 * @param mounting - lines of a shell
 */
export function inOwnMounts(mounting: string): readonly string[] {
  return ['unshare', '--map-root-user', '--mount', 'sh', '-ec', `${mounting}\nexec "$@"`, 'sh'];
}
