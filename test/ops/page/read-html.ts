/** An element's opening tag as it was written. hono/jsx escapes `<`, `>` and quotes, so this reads all of them. */
export interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const TAG = /<([a-z][a-z0-9]*)((?:\s[^<>]*)?)>/gi;
const ATTRIBUTE = /\s([^\s=<>"'/]+)(?:="([^"]*)")?/g;

export function tagsOf(html: string): readonly Tag[] {
  return Array.from(html.matchAll(TAG), ([, name = '', attributes = '']) => ({
    name,
    attributes: Object.fromEntries(
      Array.from(attributes.matchAll(ATTRIBUTE), ([, attribute = '', value = '']) => [attribute, unescaped(value)]),
    ),
  }));
}

/** What somebody reads who reads everything: without tags, and with one space where there is white space. */
export function textOf(html: string): string {
  const joined = html.replaceAll(/<wbr ?\/?>|<\/span><span class="end">/g, '');
  return unescaped(joined.replaceAll(/<(?:"[^"]*"|[^>"])*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,:;)])/g, '')
    .replaceAll('( ', '(')
    .trim();
}

export function partOf(html: string, id: string): string {
  const [opening, name] = new RegExp(`<([a-z]+)[^<>]*\\sid="${id}"[^<>]*>`).exec(html) ?? [];
  if (opening === undefined || name === undefined) return '';
  const from = html.indexOf(opening);
  let depth = 0;
  for (const match of html.slice(from).matchAll(new RegExp(`<(/?)${name}(?=[\\s>])[^<>]*>`, 'g'))) {
    depth += match[1] === '/' ? -1 : 1;
    if (depth === 0) return html.slice(from, from + match.index + match[0].length);
  }
  return html.slice(from);
}

export function textIn(html: string, id: string): string {
  return textOf(partOf(html, id));
}

/** The addresses that links lead to. */
export function hrefsIn(html: string): readonly string[] {
  return tagsOf(html).flatMap(({ name, attributes }) => (name === 'a' ? (attributes['href'] ?? []) : []));
}

/** The names and values of inputs. */
export function inputsIn(html: string): readonly (readonly [name: string, value: string])[] {
  return tagsOf(html).flatMap(({ name, attributes: { name: field = '', value = '' } }) =>
    name === 'input' ? [[field, value] as const] : [],
  );
}

export function countOf(html: string, element: string): number {
  return tagsOf(html).filter(({ name }) => name === element).length;
}

export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
