/** An element's opening tag as it was written. hono/jsx escapes `<`, `>` and quotes, so this reads all of them. */
export interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const TAG = /<([a-z][a-z0-9]*)((?:\s[^<>]*)?)>/gi;
const ATTRIBUTE = /\s([^\s=<>"'/]+)(?:="([^"]*)")?/g;

/** The opening tags of a piece of HTML, in their order. */
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
  // A place where a line may break is none that is read, nor is one where a name may be cut.
  const joined = html.replaceAll(/<wbr ?\/?>|<\/span><span class="end">/g, '');
  return unescaped(joined.replaceAll(/<(?:"[^"]*"|[^>"])*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (?=[.,:;)])/g, '')
    .replaceAll('( ', '(')
    .trim();
}

/** The piece of HTML from the element with an id on to its end; empty where there is none. */
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

/** A text as it was before it was put into HTML. */
export function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
