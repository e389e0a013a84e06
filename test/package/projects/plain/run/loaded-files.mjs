/** Prints the files that are loaded by an import. */
import { registerHooks } from 'node:module';

const [specifier] = process.argv.slice(2);
const loaded = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});
await import(specifier);
process.stdout.write(JSON.stringify(loaded));
