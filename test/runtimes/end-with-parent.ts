/** Also if the parent was killed. */
export function endWithParent(): void {
  process.stdin.once('end', () => process.exit());
  process.stdin.resume();
}
