import { expect, onTestFinished } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';
import { opsPage, type OpsPageOptions } from '../../../src/page/operators-page.tsx';
import { Hono } from 'hono';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { textIn, textOf } from './read-html.ts';

export const ADA = { user: 'ada', password: 'a password of ada', role: 'operator' } as const;
export const VIC = { user: 'vic', password: 'a password of vic', role: 'viewer' } as const;
const ORIGIN = 'http://shop.example';

type Fields = Readonly<Record<string, string | readonly string[]>>;

export interface OpenedPage {
  readonly app: Hono;
  readonly inbox: Inbox;
  readonly file: string;
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Response>;
  /** the text of an answer that has to be 200 */
  readonly html: (path: string) => Promise<string>;
  /** the text of the element with an id */
  readonly says: (path: string, id: string) => Promise<string>;
  readonly post: (path: string, fields?: Fields | FormData) => Promise<Response>;
}

export function openedPage(options: Partial<OpsPageOptions> = {}): OpenedPage {
  const file = scratchFile();
  const inbox = sqliteInbox(file);
  onTestFinished(() => inbox.close());
  const asks = 'authorize' in options || 'unsafeOpen' in options ? {} : { basic: [ADA, VIC] };
  const app = new Hono().route('/ops', opsPage({ inbox }, { ...asks, ...options }));

  const get: OpenedPage['get'] = async (path, headers = signedIn(ADA)) => {
    return app.request(`${ORIGIN}/ops${path}`, { headers });
  };
  const html: OpenedPage['html'] = async (path) => {
    const answer = await get(path);
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(`${path} is answered ${answer.status}: ${text}`);
    return text;
  };
  const post: OpenedPage['post'] = async (path, fields = {}) => {
    const body = formOf(fields);
    body.set('csrf', tokenIn(await html('/maintenance')));
    return app.request(`${ORIGIN}/ops${path}`, { method: 'POST', headers: { ...signedIn(ADA), origin: ORIGIN }, body });
  };
  const says: OpenedPage['says'] = async (path, id) => textIn(await html(path), id);
  return { app, inbox, file, get, html, says, post };
}

export function signedIn({ user, password }: { readonly user: string; readonly password: string }): {
  authorization: string;
} {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

export function tokenIn(html: string): string {
  return /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? '';
}

export function leadsTo(answer: Response): string {
  return (answer.headers.get('location') ?? '').replace(/^\/ops/, '');
}

function formOf(fields: Fields | FormData): FormData {
  if (fields instanceof FormData) return fields;
  const form = new FormData();
  for (const [name, values] of Object.entries(fields)) {
    for (const value of [values].flat()) form.append(name, value);
  }
  return form;
}

export async function expectAnswer(answer: Response, status: number, said: string): Promise<void> {
  expect([answer.status, textOf(await answer.text())]).toEqual([status, expect.stringContaining(said)]);
}
