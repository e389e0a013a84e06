import { hasThread, ownCheckout } from './against.ts';
import { installedVersion } from './installed-version.ts';
import type { SigningScheme } from './load/signing-schemes.ts';

/** One server under measurement. */
export interface Row {
  readonly name: string;
  readonly title: string;
  /** `servers/<server>.ts` */
  readonly server: string;
  readonly scheme: SigningScheme;
  /** Answers a wrong signature with 4xx. */
  readonly verifies: boolean;
  /** Answers the second delivery of an event as a duplicate, from a database file it is given. */
  readonly stores: boolean;
  /** Handles what it stored in the same process, and counts when asked (handling.ts). */
  readonly handles?: boolean;
  /** Stores on its event loop: `thread: false`. */
  readonly onTheLoop?: boolean;
  /** The folder of the checkout whose library it runs; this one unless set. */
  readonly checkout?: string;
}

const versioned = (name: string): string => `${name} ${installedVersion(name)}`;

const bare = { scheme: 'hookbox', verifies: false, stores: false } as const;
const verifying = { scheme: 'hookbox', verifies: true, stores: false } as const;
const storing = { scheme: 'hookbox', verifies: true, stores: true } as const;

const bareNode: Row = { name: 'bare-node-http', title: 'bare node:http', server: 'bare-node-http', ...bare };

/** The row every other is compared with. */
export const baseline: Row = {
  name: 'bare-hono',
  title: `bare Hono (${versioned('@hono/node-server')})`,
  server: 'bare-hono',
  ...bare,
};

const nothing: Row = {
  name: 'nothing',
  title: 'hookbox, a store that does nothing (Hono)',
  server: 'hookbox-nothing',
  ...verifying,
};

export const verifier: Row = {
  name: 'verifier',
  title: 'hookbox, verified only (Hono)',
  server: 'hookbox-verifier',
  ...verifying,
};

const threaded = hasThread(ownCheckout);

/** The row the project's goals speak of. */
export const stored: Row = {
  name: 'stored',
  title: `hookbox, stored${threaded ? ' in a thread' : ''} (Hono, SQLite)`,
  server: 'hookbox-durable',
  ...storing,
};

/** The same without a thread, where there is one to be without. */
export const storedOnTheLoop: readonly Row[] = threaded
  ? [{ ...stored, name: 'stored-loop', title: 'hookbox, stored on the loop (`thread: false`)', onTheLoop: true }]
  : [];

/** The same with the library of another checkout. */
export function storedBefore(checkout: string | undefined): readonly Row[] {
  return checkout === undefined
    ? []
    : [{ ...stored, name: 'stored-before', title: 'hookbox, stored, the commit before', checkout }];
}

/** Stored and handled in one process. */
export const handled: Row = {
  ...stored,
  name: 'handled',
  title: `hookbox, stored${threaded ? ' in a thread' : ''} and handled`,
  server: 'hookbox-handled',
  handles: true,
};

/** Stored on a server, whose URL it finds in its environment. */
export const storedOnPostgres: Row = {
  ...stored,
  name: 'stored-postgres',
  title: 'hookbox, stored (Hono, Postgres)',
  server: 'hookbox-postgres',
};

/** What a merchant would write by hand to be as safe. */
export const handWritten: Row = {
  name: 'express-insert',
  title: 'hand-written: verify and insert (Express, SQLite)',
  server: 'express-insert',
  ...storing,
};

/** Libraries that verify and store nothing. */
const peers: readonly Row[] = [
  { server: 'octokit', scheme: 'github', title: `${versioned('@octokit/webhooks')} (node:http)` } as const,
  { server: 'stripe', scheme: 'stripe', title: `${versioned('stripe')} (Express)` } as const,
  {
    server: 'standardwebhooks',
    scheme: 'standard-webhooks',
    title: `${versioned('standardwebhooks')} (Express)`,
  } as const,
  { server: 'tern', scheme: 'hookbox', title: `${versioned('@hookflo/tern')} (Express)` } as const,
].map((peer) => ({ ...verifying, ...peer, name: peer.server }));

/** Every row of the table of servers; with what was built elsewhere, where there is something to compare with. */
export function allRows(checkout: string | undefined): readonly Row[] {
  return [
    bareNode,
    baseline,
    nothing,
    verifier,
    stored,
    ...storedOnTheLoop,
    ...storedBefore(checkout),
    handWritten,
    ...peers,
  ];
}
