import { quoted } from '../../host/shell-words.ts';

/** Where a sandbox listens unless `--port` says otherwise. */
export const DEFAULT_PORT = 4000;
export const DEFAULT_AT = `http://127.0.0.1:${DEFAULT_PORT}`;

export const CONTROL_PATH = '/control';
export const DASHBOARD = '/dashboard';

/** What `sandbox list` lists. */
export const LISTS = ['deliveries', 'dead-letters', 'orders', 'webhooks', 'keys', 'faults', 'stock'] as const;

/** The command that does something to the sandbox at an address, as a shell takes it. */
export function steeringText(base: string, ...words: readonly string[]): string {
  const all = [...words, ...(base === DEFAULT_AT ? [] : ['--at', base])];
  return `hookbox sandbox ${all.map(quoted).join(' ')}`;
}
