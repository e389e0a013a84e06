const [file, mode] = process.argv.slice(2);

/** The database file this process was told to use: its first argument. */
export function databaseFile(): string {
  if (file === undefined) throw new Error('Give the database file as the argument.');
  return file;
}

/** Whether this process is to store on its event loop: its second argument. */
export function onTheLoop(): boolean {
  return mode === 'loop';
}
