/** Ends this process when the one that started it is gone, however that ended. */
export function endWithParent(): void {
  process.stdin.once('end', () => process.exit());
  process.stdin.resume();
}
