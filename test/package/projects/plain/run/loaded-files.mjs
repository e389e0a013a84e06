/** Prints the files that are loaded by an import, and by opening the inbox named after it, if one is. */
import { registerHooks } from 'node:module';

const [specifier, inbox] = process.argv.slice(2);
const loaded = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});
const { sqliteInbox } = await import(specifier);
if (inbox !== undefined) await sqliteInbox(inbox).close();
process.stdout.write(JSON.stringify(loaded));
