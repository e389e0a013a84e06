import { format } from 'oxfmt';
import { entries, type Declaration, type Declared, type Node, type SourceFile, type Span } from './public-names.ts';

type Member =
  | Node<Declared, 'TSInterfaceDeclaration'>['body']['body'][number]
  | Node<Declared, 'ClassDeclaration'>['body']['body'][number];
type TypeNode = Node<Declared, 'TSTypeAliasDeclaration'>['typeAnnotation'];
type Parameters = Node<Declared, 'TSDeclareFunction'>['params'];
interface Called {
  readonly params: Parameters;
  readonly returnType?: Span | null;
  readonly typeParameters?: Span | null;
}

interface Home {
  readonly page: string;
  readonly anchor: string;
  readonly as: string;
  readonly isExported: boolean;
  readonly declaration: Declaration;
}
/** How a name of one module is linked from one page. */
type Link = (name: string, from?: 'code' | 'comment') => string | null;

/** docs/api/*.md by file name, made of the TSDoc of what package.json exports. */
export async function apiPages(): Promise<ReadonlyMap<string, string>> {
  const homes = homesOf();
  const pages = new Map([['README.md', index()]]);
  for (const [entry, module] of entries()) pages.set(fileOf(entry), page(entry, module, homes));
  const formatted = [...pages].map(async ([name, text]) => {
    const { code } = await format(name, text, { printWidth: 120, singleQuote: true });
    return [name, code] as const;
  });
  return new Map(await Promise.all(formatted));
}

function index(): string {
  const list = [...entries()].map(
    ([entry, { doc }]) => `- [\`${entry}\`](${fileOf(entry)}): ${lowered(docOf(doc).text)}`,
  );
  return `# API reference\n\n${NOTE}\n\n${list.join('\n')}`;
}

const NOTE =
  'These pages describe every public name, by entry point. A type that several entry points export ' +
  'is described on one page, and the other pages link to that page. "The service\'s interface" is the specification ' +
  'of the Commerce Ordering Service, version 1.0.0. `npm run docs` generates these pages from the TSDoc in the source.';

function fileOf(entry: string): string {
  return entry === 'hookbox' ? 'hookbox.md' : `${entry.replace('hookbox/', '').replaceAll('/', '-')}.md`;
}

function lowered(text: string): string {
  return text.split(/\n\n/)[0]?.replaceAll('\n', ' ') ?? '';
}

function keyOf({ file, name }: Declaration): string {
  return `${file.path}#${name}`;
}

/**
 * Each declaration is described on the page of the first entry that exports it. A type that none exports, and that a member or
 * a parameter has, is described where it is used first.
 */
function homesOf(): ReadonlyMap<string, Home> {
  const homes = new Map<string, Home>();
  for (const [entry, module] of entries()) {
    const all = module.exports();
    for (const [as, declaration] of all) {
      if (homes.has(keyOf(declaration))) continue;
      homes.set(keyOf(declaration), {
        page: fileOf(entry),
        anchor: anchorOf(headingOf(as, all)),
        as,
        isExported: true,
        declaration,
      });
    }
  }
  // A map's loop comes to what is added meanwhile.
  for (const [, { page: used, declaration }] of homes) {
    for (const name of namesIn(usesOf(declaration))) {
      const found = declaration.file.find(name);
      if (found === undefined || homes.has(keyOf(found)) || !isWorthASection(found)) continue;
      const taken = [...homes.values()].some((home) => home.page === used && home.anchor === anchorOf(found.name));
      const as = taken ? `${found.name} (2)` : found.name;
      homes.set(keyOf(found), { page: used, anchor: anchorOf(as), as, isExported: false, declaration: found });
    }
  }
  return homes;
}

function isType({ parts }: Declaration): boolean {
  const type = parts[0]?.node.type;
  return type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration';
}

/** Of types that no entry exports: those that say something, and not what computes types or belongs to a host. */
function isWorthASection(found: Declaration): boolean {
  const [part] = found.parts;
  const isComputed = part?.node.type === 'TSTypeAliasDeclaration' && Boolean(part.node.typeParameters);
  return isType(found) && part?.doc !== '' && !isComputed && !found.file.path.startsWith('adapters/');
}

/** The code of a declaration that a reader sees: without bodies of functions, and without what an interface extends. */
function usesOf({ file, name, parts }: Declaration): string {
  const seen = parts.map(({ node }) =>
    node.type === 'TSInterfaceDeclaration' ? file.textOf(node.body) : signatureOf(name, node, file),
  );
  const literals = parts.map(({ node }) => (node.type === 'TSTypeAliasDeclaration' ? file.textOf(node) : ''));
  return [...seen, ...literals].join('\n');
}

function namesIn(code: string): ReadonlySet<string> {
  return new Set(code.replaceAll(/\/\*[\s\S]*?\*\/|'[^']*'/g, '').match(/\b[A-Z]\w+/g));
}

/** A function and a type whose names differ in case alone would have one anchor. */
function headingOf(name: string, all: ReadonlyMap<string, Declaration>): string {
  const twin = [...all.keys()].some((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  return twin && /^[A-Z]/.test(name) ? `${name} (type)` : name;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

function page(entry: string, module: SourceFile, homes: ReadonlyMap<string, Home>): string {
  const all = module.exports();
  const linkIn =
    (file: SourceFile): Link =>
    (name, from = 'code') => {
      const found = file.find(name);
      // A comment may name what its file does not import.
      const named = [...homes.values()].find(({ as, isExported }) => from === 'comment' && isExported && as === name);
      const home = found ? homes.get(keyOf(found)) : named;
      if (home === undefined) return null;
      return `${home.page === fileOf(entry) ? '' : home.page}#${home.anchor}`;
    };
  const here = [...homes.values()].filter(({ page: on }) => on === fileOf(entry));
  const values = here.filter(({ declaration }) => !isType(declaration));
  const types = here
    .filter(({ declaration }) => isType(declaration))
    .toSorted((a, b) => (a.declaration.name < b.declaration.name ? -1 : 1));
  const listed = (homed: readonly Home[]) =>
    homed.map(({ page: on, anchor, as }) => {
      return `[\`${as}\`](${on === fileOf(entry) ? '' : on}#${anchor})`;
    });
  const elsewhere = [...all.values()].flatMap((declaration) => {
    const home = homes.get(keyOf(declaration));
    return home === undefined || home.page === fileOf(entry) ? [] : [home];
  });
  const { text } = docOf(module.doc);
  return [
    `# ${entry}`,
    text,
    ...lists([
      ['', listed(values)],
      ['Types: ', listed(types.filter(({ isExported }) => isExported))],
      ['Also exported: ', listed(elsewhere)],
      ['Used by these types, but not exported: ', listed(types.filter(({ isExported }) => !isExported))],
    ]),
    ...[...values, ...types].map(({ as, declaration }) => section(headingOf(as, all), declaration, linkIn)),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function lists(named: readonly (readonly [name: string, links: readonly string[]])[]): string[] {
  return named.flatMap(([name, links]) => (links.length === 0 ? [] : [`${name}${links.join(' · ')}`]));
}

function section(heading: string, declaration: Declaration, linkIn: (file: SourceFile) => Link): string {
  const link = linkIn(declaration.file);
  const { file, name } = declaration;
  const signatures = declaration.parts.map(({ node }) => signatureOf(name, node, file));
  const code = signatures.join('\n');
  const said = declaration.parts.map(({ doc }) => prose(docOf(doc), link));
  const parts = [code && `\`\`\`ts\n${code}\n\`\`\`\n\n${see(code, name, link)}`, ...said].filter(
    (part) => part !== '',
  );
  const [first] = declaration.parts;
  const list = first ? members(first.node, file, linkIn) : '';
  // Two lists in a row would be one.
  const isListed = /(?:^|\n\n)- .*$/s.test(parts.at(-1)?.split('\n\n').at(-1) ?? '');
  return [`## ${heading}`, ...parts, isListed && list !== '' ? 'Members:' : '', list]
    .filter((part) => part.trim() !== '')
    .join('\n\n');
}

/** The code of a declaration without what its members say below it. */
function signatureOf(name: string, node: Declared, file: SourceFile): string {
  if (node.type === 'TSInterfaceDeclaration') {
    const parameters = node.typeParameters ? file.textOf(node.typeParameters) : '';
    return parameters === '' ? '' : `interface ${name}${parameters}`;
  }
  if (node.type === 'TSTypeAliasDeclaration') {
    if (node.typeAnnotation.type === 'TSTypeLiteral') return '';
    const code = file.textOf(node).replace(/^export /, '');
    const of = /^\(?(?:keyof )?typeof (?<constant>\w+)\)?(?:\[number\])?$/.exec(file.textOf(node.typeAnnotation));
    const values = file.namesIn(of?.groups?.['constant'] ?? '');
    return values.length > 0 ? `type ${name} = ${values.map((each) => `'${each}'`).join(' | ')};` : code;
  }
  if (node.type === 'ClassDeclaration') {
    return `class ${name}${node.superClass ? ` extends ${file.textOf(node.superClass)}` : ''}`;
  }
  if (node.type === 'VariableDeclaration') {
    const [declared] = node.declarations;
    const type = declared?.id.type === 'Identifier' ? declared.id.typeAnnotation : null;
    return `const ${name}${type ? file.textOf(type) : ''}`;
  }
  return 'params' in node ? callOf(`function ${name}`, node, file) : '';
}

function callOf(name: string, { params, returnType, typeParameters }: Called, file: SourceFile): string {
  const given = params.map((param) => {
    if (param.type === 'AssignmentPattern') {
      const { left } = param;
      const type = 'typeAnnotation' in left && left.typeAnnotation ? file.textOf(left.typeAnnotation) : '';
      return `${left.type === 'Identifier' ? left.name : 'options'}?${type}`;
    }
    if (param.type === 'ObjectPattern')
      return `options${param.typeAnnotation ? file.textOf(param.typeAnnotation) : ''}`;
    return file.textOf(param);
  });
  const types = typeParameters ? file.textOf(typeParameters) : '';
  return withoutComments(`${name}${types}(${given.join(', ')})${returnType ? file.textOf(returnType) : ''}`);
}

function withoutComments(code: string): string {
  return code.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/readonly /g, '');
}

/** Links to the public types that a piece of code names. */
function see(code: string, own: string, link: Link): string {
  const links = [...namesIn(code)].flatMap((name) => {
    const to = name === own ? null : link(name);
    return to === null ? [] : [`[\`${name}\`](${to})`];
  });
  return links.join(', ');
}

/** The members of an interface, a class or a type of braces, as a list; those of what it extends, where that has no section. */
function members(node: Declared, file: SourceFile, linkIn: (file: SourceFile) => Link): string {
  const link = linkIn(file);
  if (node.type === 'TSInterfaceDeclaration') {
    const bases = node.extends.map((base) => {
      const code = file.textOf(base);
      const [, less, of = /^\w+/.exec(code)?.[0] ?? '', keys = ''] = /^(Omit|Pick)<(\w+), (.+)>$/.exec(code) ?? [];
      const found = file.find(of);
      const part = found?.parts[0];
      if (found && part && link(of) === null) {
        const named = new Set(keys.match(/\w+/g));
        const isIn = (line: string): boolean => named.has(/^- `(\w+)/.exec(line)?.[1] ?? '') === (less === 'Pick');
        const parameter =
          part.node.type === 'TSInterfaceDeclaration' ? part.node.typeParameters?.params[0]?.name.name : null;
        const given = base.typeArguments?.params[0];
        return members(part.node, found.file, linkIn)
          .split(/\n(?=- )/)
          .filter((line) => less === undefined || isIn(line))
          .map((line) => (parameter && given ? line.replaceAll(`: ${parameter}\``, `: ${file.textOf(given)}\``) : line))
          .join('\n');
      }
      const links = see(code, '', link);
      return links === `[\`${code}\`](${link(code)})`
        ? `- all members of ${links}`
        : `- the members of \`${code}\`${links === '' ? '' : ` (${links})`}`;
    });
    return [...node.body.body.map((each) => item(each, file, link)), ...bases].filter((line) => line !== '').join('\n');
  }
  if (node.type === 'TSTypeAliasDeclaration' && node.typeAnnotation.type === 'TSTypeLiteral') {
    return node.typeAnnotation.members.map((each) => item(each, file, link)).join('\n');
  }
  if (node.type === 'ClassDeclaration') {
    return node.body.body
      .map((each) => item(each, file, link))
      .filter((line) => line !== '')
      .join('\n');
  }
  return '';
}

function item(member: Member, file: SourceFile, link: Link): string {
  if (!('key' in member)) {
    const code = withoutComments(file.textOf(member)).replace(/;$/, '').replaceAll(/\s+/g, ' ');
    return entryOf(code, file.docBefore(member.start), link);
  }
  if (member.key.type === 'PrivateIdentifier') return '';
  if ('accessibility' in member && member.accessibility === 'private') return '';
  const key = member.computed ? `[${file.textOf(member.key)}]` : file.textOf(member.key);
  const optional = 'optional' in member && member.optional ? '?' : '';
  const name = `${'static' in member && member.static ? 'static ' : ''}${key}${optional}`;
  const doc = file.docBefore(member.start);
  if (member.type === 'TSMethodSignature') return entryOf(callOf(name, member, file), doc, link);
  if (member.type === 'MethodDefinition' && member.kind !== 'get') {
    return entryOf(callOf(key === 'constructor' ? 'new' : name, member.value, file), doc, link);
  }
  if (member.type === 'MethodDefinition') {
    return entryOf(`${name}${member.value.returnType ? file.textOf(member.value.returnType) : ''}`, doc, link);
  }
  const type = 'typeAnnotation' in member ? member.typeAnnotation : null;
  const inner = type ? literalIn(type.typeAnnotation) : null;
  const isSaid = inner?.members.some((each) => file.docBefore(each.start) !== '') ?? false;
  const value = 'value' in member && member.value ? `: ${file.textOf(member.value)}` : '';
  if (!type || !inner || !isSaid)
    return entryOf(withoutComments(`${name}${type ? file.textOf(type) : value}`), doc, link);
  const around = file.textOf(type).split(file.textOf(inner));
  const nested = inner.members.map((each) => item(each, file, link).replaceAll(/^/gm, '  '));
  return [entryOf(withoutComments(`${name}${around.join('{ … }')}`), doc, link), ...nested].join('\n');
}

/** The braces in a type, which have members of their own: `{ … }`, `A & { … }`, `readonly { … }[]`. */
function literalIn(type: TypeNode): Node<TypeNode, 'TSTypeLiteral'> | null {
  if (type.type === 'TSTypeLiteral') return type;
  if (type.type === 'TSTypeOperator') return literalIn(type.typeAnnotation);
  if (type.type === 'TSArrayType') return literalIn(type.elementType);
  if (type.type === 'TSIntersectionType') return type.types.map(literalIn).find((each) => each !== null) ?? null;
  return null;
}

function entryOf(code: string, doc: string, link: Link): string {
  const plain = code
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([({]) /g, '$1 ')
    .replaceAll('( ', '(')
    .replaceAll(', )', ')');
  const links = see(code, '', link);
  const said = docOf(doc);
  const initial = said.tags.find(({ tag }) => tag === 'defaultValue')?.text;
  const before = `- \`${plain}\`${links === '' ? '' : ` (${links})`}`;
  const rest = prose(said, link);
  const text = initial === undefined ? rest : `${rest} Default: ${initial}.`.trim();
  return text === '' ? before : `${before}: ${text.replaceAll('\n', '\n  ')}`;
}

interface Doc {
  readonly text: string;
  readonly tags: readonly { readonly tag: string; readonly text: string }[];
}

function docOf(comment: string): Doc {
  // Not inside of an example, whose code may have decorators.
  const [text = '', ...tags] = comment.split(
    /^@(?=(?:param|returns|throws|example|typeParam|defaultValue|module|see|remarks)\b)/m,
  );
  return {
    text: text.trim(),
    tags: tags.map((each) => {
      const tag = /^\w+/.exec(each)?.[0] ?? '';
      return { tag, text: each.slice(tag.length).trim() };
    }),
  };
}

/** A comment as Markdown. */
function prose({ text, tags }: Doc, link: Link): string {
  const of = (tag: string) => tags.filter((each) => each.tag === tag).map((each) => linked(each.text, link));
  const given = of('param').map((each) => each.replace(/^(?<name>\S+) - /, '- `$<name>`: '));
  return [
    linked(text, link),
    ...of('typeParam').map((each) => each.replace(/^(?<name>\S+) - /, 'Type `$<name>`: ')),
    given.join('\n'),
    ...of('returns').map((each) => `Returns ${each}`),
    ...of('throws').map((each) => `Throws ${each}`),
    ...of('example'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function linked(text: string, link: Link): string {
  return text.replaceAll(/\{@link (?<name>\w+)\}/g, (_, name: string) => {
    const to = link(name, 'comment');
    return to === null ? `\`${name}\`` : `[\`${name}\`](${to})`;
  });
}
