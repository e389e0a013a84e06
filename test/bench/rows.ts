import { installedVersion } from './installed-version.ts';
import type { SigningScheme } from './signing-schemes.ts';

/** One server under measurement: `servers/<name>.ts`. */
export interface Row {
  readonly name: string;
  readonly title: string;
  readonly scheme: SigningScheme;
  /** Answers a wrong signature with 4xx. */
  readonly verifies: boolean;
  /** Answers the second delivery of an event as a duplicate, from a database file it is given. */
  readonly stores: boolean;
  /** Handles what it stored in the same process, and counts when asked (handling.ts). */
  readonly handles?: boolean;
}

const versioned = (name: string): string => `${name} ${installedVersion(name)}`;

/** The row every other is compared with. */
export const baseline = 'bare-hono';

/** The row the project's goals speak of. */
export const durable: Row = {
  name: 'hookbox-durable',
  title: 'hookbox, stored (Hono, SQLite)',
  scheme: 'hookbox',
  verifies: true,
  stores: true,
};

/** The same with a handler; only the fourth table measures it. */
export const handled: Row = {
  ...durable,
  name: 'hookbox-handled',
  title: 'hookbox, stored and handled (Hono, SQLite)',
  handles: true,
};

/** Libraries that verify and store nothing. */
export const peers: readonly Row[] = [
  {
    name: 'octokit',
    title: `${versioned('@octokit/webhooks')} (node:http)`,
    scheme: 'github',
    verifies: true,
    stores: false,
  },
  {
    name: 'stripe',
    title: `${versioned('stripe')} (Express)`,
    scheme: 'stripe',
    verifies: true,
    stores: false,
  },
  {
    name: 'standardwebhooks',
    title: `${versioned('standardwebhooks')} (Express)`,
    scheme: 'standard-webhooks',
    verifies: true,
    stores: false,
  },
  {
    name: 'tern',
    title: `${versioned('@hookflo/tern')} (Express)`,
    scheme: 'hookbox',
    verifies: true,
    stores: false,
  },
];

/** What a merchant would write by hand to be as safe. */
export const handWritten: Row = {
  name: 'express-insert',
  title: 'hand-written: verify and insert (Express, SQLite)',
  scheme: 'hookbox',
  verifies: true,
  stores: true,
};

export const rows: readonly Row[] = [
  {
    name: 'bare-node-http',
    title: 'bare node:http',
    scheme: 'hookbox',
    verifies: false,
    stores: false,
  },
  {
    name: baseline,
    title: `bare Hono (${versioned('@hono/node-server')})`,
    scheme: 'hookbox',
    verifies: false,
    stores: false,
  },
  {
    name: 'hookbox-verifier',
    title: 'hookbox, verified only (Hono)',
    scheme: 'hookbox',
    verifies: true,
    stores: false,
  },
  durable,
  handWritten,
  ...peers,
];
