// Preloaded (node --import) into a process and its threads, it changes their source as REWRITES says, a list of
// [end of the file's address, text, what stands there instead]. A text that is not there is an error.
import { registerHooks } from 'node:module';

export type Rewrite = readonly [file: string, text: string, instead: string];

const rewrites = JSON.parse(process.env['REWRITES'] ?? '[]') as readonly Rewrite[];

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    for (const [file, text, instead] of rewrites) {
      if (!url.endsWith(file)) continue;
      const { source = '' } = loaded;
      const before = typeof source === 'string' ? source : new TextDecoder().decode(source);
      if (before.split(text).length !== 2) throw new Error(`${file} has not once: ${text}`);
      loaded.source = before.replace(text, () => instead);
    }
    return loaded;
  },
});
