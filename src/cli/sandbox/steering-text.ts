import { quoted } from '../../host/shell-words.ts';
import { DEFAULT_AT } from './control/address.ts';

/** The command that does something to the sandbox at an address, as a shell takes it. */
export function steeringText(base: string, ...words: readonly string[]): string {
  const all = [...words, ...(base === DEFAULT_AT ? [] : ['--at', base])];
  return `hookbox sandbox ${all.map(quoted).join(' ')}`;
}
