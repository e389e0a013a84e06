import type { Child } from 'hono/jsx';

interface PageHeadParts {
  readonly title: string;
  /** addresses of its stylesheets */
  readonly styles: readonly string[];
  readonly children?: Child;
}

/** What stands above a whole page: it is no business of search engines, and asks nobody for an icon. */
export function PageHead({ title, styles, children }: PageHeadParts) {
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
