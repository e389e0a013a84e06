/** Prints what each export path that is named on the command line exports. */
const names = {};
for (const specifier of process.argv.slice(2)) names[specifier] = Object.keys(require(specifier));
process.stdout.write(JSON.stringify(names));
