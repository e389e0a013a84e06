import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

const THEMES = ['system', 'light', 'dark'] as const;
const TIMES = ['UTC', 'local'] as const;

/** How a visitor wants to see the page. A cookie keeps it, so the first paint already has the right colours. */
export interface Preferences {
  readonly theme: (typeof THEMES)[number];
  readonly times: (typeof TIMES)[number];
}

export const PREFERENCES = [
  { name: 'theme', legend: 'Theme', options: THEMES },
  { name: 'times', legend: 'Times', options: TIMES },
] as const;

const COOKIE = 'hookbox-preferences';
const YEAR_S = 365 * 24 * 60 * 60;

export function preferencesOf(c: Context): Preferences {
  return read(Object.fromEntries(new URLSearchParams(getCookie(c, COOKIE))), { theme: 'system', times: 'UTC' });
}

type Fields = Readonly<Record<string, string>>;

/** @param chosen - one preference; the others stay */
export function keepPreferences(c: Context, base: string, chosen: Fields): void {
  const value = new URLSearchParams({ ...read(chosen, preferencesOf(c)) }).toString();
  const secure = c.req.url.startsWith('https:');
  setCookie(c, COOKIE, value, { path: base || '/', httpOnly: true, sameSite: 'Lax', maxAge: YEAR_S, secure });
}

function read(fields: Fields, { theme, times }: Preferences): Preferences {
  return {
    theme: THEMES.find((one) => one === fields['theme']) ?? theme,
    times: TIMES.find((one) => one === fields['times']) ?? times,
  };
}

/** The screen to return to. An address elsewhere leads to the first screen. */
export function returnPath(base: string, to: string | undefined): string {
  const elsewhere = 'http://elsewhere.invalid';
  const url = to !== undefined && URL.canParse(to, elsewhere) ? new URL(to, elsewhere) : null;
  const isOurs =
    url?.origin === elsewhere && `${url.pathname}/`.startsWith(`${base}/`) && !url.pathname.startsWith('//');
  return isOurs ? `${url.pathname}${url.search}` : base || '/';
}
