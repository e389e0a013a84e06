import { Hono } from 'hono';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { sandboxPage, type SandboxPageOptions } from '../../src/sandbox/page/sandbox-page.tsx';
import { partOf, tagsOf, textOf } from '../ops/page/read-html.ts';

export const ORIGIN = 'http://localhost:4000';
const FROM_HERE = { incoming: { socket: { remoteAddress: '127.0.0.1' } } };

type Fields = Readonly<Record<string, string | readonly string[]>>;

export interface Sight {
  readonly status: number;
  readonly path: string;
  readonly headers: Headers;
  readonly html: string;
  readonly text: string;
  readonly said: string;
}

export class FormUser {
  readonly #app: Hono;

  constructor(sandbox: Sandbox, options: SandboxPageOptions = {}) {
    this.#app = new Hono().route('/dashboard', sandboxPage(sandbox, options));
  }

  async ask(path: string, init: RequestInit = {}, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const browser = init.method === 'POST' ? { origin: ORIGIN, 'sec-fetch-site': 'same-origin' } : {};
    return this.#app.request(`${ORIGIN}${path}`, { ...init, headers: { ...browser, ...headers } }, FROM_HERE);
  }

  async open(path: string): Promise<Sight> {
    return sightOf(`/dashboard${path}`, await this.ask(`/dashboard${path}`));
  }

  async send(sight: Sight, form: string, fields: Fields = {}, button?: string): Promise<Sight> {
    return this.post(readForm(sight.html, form, fields, button));
  }

  async post({ action, body }: ReadForm, headers: Readonly<Record<string, string>> = {}): Promise<Sight> {
    const answer = await this.ask(action, { method: 'POST', body: new URLSearchParams(body) }, headers);
    const to = answer.headers.get('location');
    return answer.status === 303 && to !== null ? sightOf(to, await this.ask(to)) : sightOf(action, answer);
  }
}

async function sightOf(path: string, answer: Response): Promise<Sight> {
  const html = await answer.text();
  return {
    status: answer.status,
    path: path.replace(/^\/dashboard/, ''),
    headers: answer.headers,
    html,
    text: textOf(partOf(html, 'main')),
    said: textOf(partOf(html, 'flash')),
  };
}

export interface ReadForm {
  readonly action: string;
  readonly body: [name: string, value: string][];
}

/**
 * Reads a form.
 *
 * @param name - its accessible name
 * @param button - the text or the accessible name of the button that sends it, where it has several
 */
export function readForm(html: string, name: string, fields: Fields = {}, button?: string): ReadForm {
  const forms = Array.from(html.matchAll(/<form[^<>]*>.*?<\/form>/gs), ([form]) => form);
  const form = forms.find((one) => tagsOf(one)[0]?.attributes['aria-label'] === name);
  if (form === undefined) throw new Error(`there is no form ${name} in: ${textOf(html)}`);
  const body: [string, string][] = [];
  let select = '';
  for (const { name: tag, attributes } of tagsOf(form)) {
    const { name: field = '', type = 'text', value = '' } = attributes;
    if (tag === 'textarea') body.push([field, textOf(partNamed(form, field))]);
    if (tag === 'select') select = field;
    if (tag === 'option') {
      const isFirst = select !== body.at(-1)?.[0];
      if (!isFirst && 'selected' in attributes) body.pop();
      if (isFirst || 'selected' in attributes) body.push([select, value]);
    }
    const isChoice = type === 'checkbox' || type === 'radio';
    if (tag === 'input' && (!isChoice || 'checked' in attributes)) body.push([field, value]);
  }
  const unknown = Object.keys(fields).find((field) => !form.includes(`name="${field}"`));
  if (unknown !== undefined) throw new Error(`the form ${name} has no field ${unknown}`);
  const filled = body.filter(([field]) => !Object.hasOwn(fields, field));
  for (const [field, values] of Object.entries(fields)) {
    for (const value of [values].flat()) filled.push([field, value]);
  }
  if (button !== undefined) filled.push(pressed(form, button));
  return { action: tagsOf(form)[0]?.attributes['action'] ?? '', body: filled };
}

function partNamed(form: string, name: string): string {
  return new RegExp(`<textarea name="${name}"[^<>]*>(.*?)</textarea>`, 's').exec(form)?.[1] ?? '';
}

export function buttonsOf(html: string): readonly string[] {
  return Array.from(html.matchAll(BUTTON), ([button]) => nameOf(button));
}

const BUTTON = /<button[^<>]*>.*?<\/button>/gs;

function pressed(form: string, button: string): [string, string] {
  const found = Array.from(form.matchAll(BUTTON), ([one]) => one).find((one) => nameOf(one) === button);
  const { name, value } = tagsOf(found ?? '')[0]?.attributes ?? {};
  if (name === undefined || value === undefined) throw new Error(`there is no button ${button} in ${textOf(form)}`);
  return [name, value];
}

function nameOf(button: string): string {
  return tagsOf(button)[0]?.attributes['aria-label'] ?? textOf(button);
}
