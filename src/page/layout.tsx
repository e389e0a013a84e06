import type { Child, PropsWithChildren } from 'hono/jsx';
import type { AssetName } from './asset-texts.ts';
import type { Visitor } from './visit.ts';

export interface Look {
  readonly navigation: readonly (readonly [path: string, name: string])[];
  readonly keys: (role: Visitor['role']) => readonly (readonly [key: string, what: string])[];
  readonly styles: readonly AssetName[];
  readonly search?: { readonly path: string; readonly hint: string };
  readonly footing: (role: Visitor['role']) => string;
}

export interface LayoutParts {
  readonly look: Look;
  readonly base: string;
  readonly site: string;
  readonly title: string;
  readonly tab?: string | undefined;
  readonly current: string | null;
  readonly visitor: Visitor;
  readonly sought: string;
  readonly flash: string | null;
  readonly content: Child;
}

export function Layout({
  look,
  base,
  site,
  title,
  tab = title,
  current,
  visitor,
  sought,
  flash,
  content,
}: LayoutParts) {
  return (
    <html lang="en">
      <PageHead title={`${tab} · ${site}`} styles={look.styles.map((name) => `${base}/assets/${name}`)}>
        <script type="module" src={`${base}/assets/page.js`} />
      </PageHead>
      <body data-live={`${base}/live`}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <a class="site" href={href(base, '/')}>
            {site}
          </a>
          <nav aria-label="Screens">
            <ul>
              {look.navigation.map(([path, name]) => (
                <li>
                  <a href={href(base, path)} aria-current={path === current ? 'page' : undefined}>
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          {look.search !== undefined && (
            <form class="box" method="get" action={`${base}${look.search.path}`} role="search" aria-label="All events">
              <input
                type="search"
                id="search"
                name="q"
                value={sought}
                placeholder={look.search.hint}
                aria-label="Find events"
                aria-keyshortcuts="/"
                maxlength={1_000}
                autocomplete="off"
                autocapitalize="off"
                spellcheck={false}
              />
            </form>
          )}
          <span class="live-state" id="live-state" hidden />
        </header>
        <main id="main" tabindex={-1}>
          <h1>{title}</h1>
          {flash !== null && (
            <p class="notice flash" role="status" id="flash">
              {flash}
            </p>
          )}
          {content}
        </main>
        <footer class="bottom">
          <p>
            You are <bdi>{visitor.name}</bdi>, {look.footing(visitor.role)}
          </p>
          <button type="button" id="show-keys" hidden>
            Keys <kbd>?</kbd>
          </button>
        </footer>
        <Keys keys={look.keys(visitor.role)} />
      </body>
    </html>
  );
}

function Keys({ keys }: { readonly keys: ReturnType<Look['keys']> }) {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="keys">
        {keys.map(([key, what]) => (
          <div>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" id="close-keys">
        Close
      </button>
    </dialog>
  );
}

function href(base: string, path: string): string {
  return path === '/' && base !== '' ? base : `${base}${path}`;
}

export function PlainPage({ title, sentence }: { readonly title: string; readonly sentence: string }) {
  return (
    <html lang="en">
      <PageHead title={title} styles={[]} />
      <body>
        <main>
          <h1>{title}</h1>
          <p>{sentence}</p>
        </main>
      </body>
    </html>
  );
}

type HeadParts = PropsWithChildren<{ readonly title: string; readonly styles: readonly string[] }>;

export function PageHead({ title, styles, children }: HeadParts) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex" />
      <title>{title}</title>
      <link rel="icon" href="data:," />
      {styles.map((href) => (
        <link rel="stylesheet" href={href} />
      ))}
      {children}
    </head>
  );
}
