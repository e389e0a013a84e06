/** The database file this process was told to use: its only argument. */
export function databaseFile(): string {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error('Give the database file as the argument.');
  return file;
}
