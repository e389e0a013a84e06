/** Ends the process once all is printed: the user's modules may hold something open. */
export async function endProcess(): Promise<never> {
  await Promise.all([process.stdout, process.stderr].map(flushed));
  process.exit();
}

function flushed(stream: NodeJS.WriteStream): Promise<unknown> {
  return new Promise((resolve) => stream.write('', resolve));
}
