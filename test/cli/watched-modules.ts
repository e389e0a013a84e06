/** Imported before a command: notes in a file which modules it loads, and pretends that a package is not installed. */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const { WATCHED_INTO = '', WITHOUT_PACKAGE } = process.env;
const loaded: string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== WITHOUT_PACKAGE) return next(specifier, context);
    throw Object.assign(new Error(`Cannot find package '${specifier}'`), { code: 'ERR_MODULE_NOT_FOUND' });
  },
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
process.on('exit', () => writeFileSync(WATCHED_INTO, loaded.join('\n')));
