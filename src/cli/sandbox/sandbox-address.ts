import { quoted } from '../../host/shell-words.ts';

export const DEFAULT_PORT = 4000;
export const DEFAULT_AT = `http://127.0.0.1:${DEFAULT_PORT}`;

export const CONTROL_PATH = '/control';
export const DASHBOARD = '/dashboard';

export const LISTS = ['deliveries', 'dead-letters', 'orders', 'webhooks', 'keys', 'faults', 'stock'] as const;

export function steeringText(base: string, ...words: readonly string[]): string {
  const all = [...words, ...(base === DEFAULT_AT ? [] : ['--at', base])];
  return `hookbox sandbox ${all.map(quoted).join(' ')}`;
}
