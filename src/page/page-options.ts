import type { RulesFor } from '../option-rules.ts';
import type { AuthorizationOptions, LoginOptions } from './safety/authorization.ts';
import type { GuardOptions } from './safety/request-guard.ts';

// Not in frame.tsx: its types need those of JSX, which a project without DOM types cannot read.
/** The options of each page. */
export interface PageOptions extends AuthorizationOptions, GuardOptions, LoginOptions {
  /**
   * The title of the page.
   *
   * @defaultValue `'hookbox'`, or `'sandbox'` for the dashboard
   */
  readonly title?: string;
  /** The path of the page in the browser, if a proxy removes part of it. */
  readonly base?: string;
  /**
   * The path or URL that ends the session of your own login. The page links to it.
   *
   * @defaultValue with `basic`, a path of the page; otherwise no link
   */
  readonly signOut?: string;
}

export const PAGE_OPTIONS: RulesFor<PageOptions> = {
  authorize: 'function',
  basic: 'list',
  bearer: 'list',
  unsafeOpen: true,
  logger: true,
  secret: true,
  hosts: 'list',
  title: true,
  base: true,
  signOut: true,
};
