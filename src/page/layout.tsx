import type { Child, PropsWithChildren } from 'hono/jsx';
import type { AssetName } from './asset-texts.ts';
import { Icon, IconSet, type IconName } from './parts/icon.tsx';
import { PREFERENCES, type Preferences } from './preferences.ts';
import type { Visitor } from './visit.ts';

export interface Look {
  readonly navigation: readonly (readonly [path: string, name: string, icon: IconName])[];
  readonly keys: (role: Visitor['role']) => readonly (readonly [key: string, what: string])[];
  readonly styles: readonly AssetName[];
  readonly search?: { readonly path: string; readonly hint: string };
  readonly footing: (role: Visitor['role']) => string;
}

export interface LayoutParts {
  readonly look: Look;
  readonly base: string;
  readonly site: string;
  readonly title: Child;
  readonly tab: string;
  readonly current: string | null;
  readonly visitor: Visitor;
  readonly preferences: Preferences;
  /** the path and query of this screen */
  readonly here: string;
  readonly signOut: string | null;
  readonly sought: string;
  readonly flash: string | null;
  readonly bar?: Child;
  readonly content: Child;
}

export function Layout(parts: LayoutParts) {
  const { look, base, site, title, tab, current, visitor, preferences, sought, flash, content } = parts;
  const { theme, times } = preferences;
  return (
    <html lang="en" data-theme={theme} data-times={times}>
      <PageHead
        title={`${tab} · ${site}`}
        styles={look.styles.map((name) => `${base}/assets/${name}`)}
        icon={`${base}/assets/favicon.svg`}
      >
        <script type="module" src={`${base}/assets/page.js`} />
      </PageHead>
      <body data-live={`${base}/live`}>
        <IconSet />
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header>
          <div class="side">
            <a class="site" href={href(base, '/')}>
              {MARK}
              <span>{site}</span>
            </a>
            <nav aria-label="Screens">
              <ul>
                {look.navigation.map(([path, name, icon]) => (
                  <li>
                    <a href={href(base, path)} aria-current={path === current ? 'page' : undefined}>
                      <Icon name={icon} />
                      {name}
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
          </div>
          <div class="top">
            {look.search !== undefined && (
              <form
                class="box"
                method="get"
                action={`${base}${look.search.path}`}
                role="search"
                aria-label="All events"
              >
                <Icon name="search" />
                <input
                  type="search"
                  id="search"
                  name="q"
                  value={sought}
                  placeholder={look.search.hint}
                  aria-label="Find events"
                  aria-keyshortcuts="/"
                  maxlength={4_000}
                  data-suggestions={`${base}/suggestions`}
                  autocomplete="off"
                  autocapitalize="off"
                  spellcheck={false}
                />
                <ul class="sheet" id="suggested" role="listbox" aria-label="Suggestions" hidden />
              </form>
            )}
            {parts.bar !== undefined && <div id="bar">{parts.bar}</div>}
            <span class="live-state" id="live-state" hidden />
            <UserMenu {...parts} />
          </div>
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
            You are <bdi>{visitor.name}</bdi>, {look.footing(visitor.role)}{' '}
            {times === 'UTC' ? 'All times are UTC.' : 'Times are local.'}
          </p>
          <button type="button" id="show-keys" class="held" hidden>
            Keyboard shortcuts <kbd>?</kbd>
          </button>
        </footer>
        <Keys keys={look.keys(visitor.role)} />
      </body>
    </html>
  );
}

const MARK = (
  <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" />
    <path d="M16 6v12m-5-5 5 5 5-5M7 20v3a3 3 0 0 0 3 3h12a3 3 0 0 0 3-3v-3" />
  </svg>
);

/** The same picture as in the sidebar, with its own colours. */
export const FAVICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3355cc"/><path d="M16 6v12m-5-5 5 5 5-5M7 20v3a3 3 0 0 0 3 3h12a3 3 0 0 0 3-3v-3" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round"/></svg>`;

function UserMenu({ base, here, preferences, signOut, visitor }: LayoutParts) {
  return (
    <details class="menu" id="user">
      <summary aria-label={`${visitor.name}: settings`}>
        <Icon name="account" />
        <bdi class="who">{visitor.name}</bdi>
        <Icon name="down" />
      </summary>
      <div class="sheet">
        <p>
          <strong>
            <bdi>{visitor.name}</bdi>
          </strong>
          <span class="muted">{visitor.role}</span>
        </p>
        {PREFERENCES.map(({ name, legend, options }) => (
          <div class="switch" role="group" aria-labelledby={`set-${name}`}>
            <span id={`set-${name}`}>{legend}</span>
            {options.map((option) => (
              <a
                href={`${base}/preferences?${new URLSearchParams({ [name]: option, to: here }).toString()}`}
                aria-current={preferences[name] === option ? 'true' : undefined}
              >
                {option}
              </a>
            ))}
          </div>
        ))}
        {signOut !== null && <a href={signOut}>Sign out</a>}
      </div>
    </details>
  );
}

function Keys({ keys }: { readonly keys: ReturnType<Look['keys']> }) {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keyboard shortcuts</h2>
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

type HeadParts = PropsWithChildren<{
  readonly title: string;
  readonly styles: readonly string[];
  readonly icon?: string;
}>;

export function PageHead({ title, styles, icon = 'data:,', children }: HeadParts) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <meta name="robots" content="noindex" />
      <title>{title}</title>
      <link rel="icon" href={icon} />
      {styles.map((href) => (
        <link rel="stylesheet" href={href} />
      ))}
      {children}
    </head>
  );
}
