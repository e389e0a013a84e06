/** Prints what each export path that is named on the command line exports. */
const names = {};
for (const specifier of process.argv.slice(2)) {
  const isJson = specifier.endsWith('.json');
  const loaded = await import(specifier, isJson ? { with: { type: 'json' } } : {});
  names[specifier] = Object.keys(isJson ? loaded.default : loaded);
}
process.stdout.write(JSON.stringify(names));
