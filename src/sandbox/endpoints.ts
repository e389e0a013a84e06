export const ENDPOINT_TABLES = `
  CREATE TABLE endpoints (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    given_as TEXT UNIQUE,
    url TEXT,
    secret ANY,
    events TEXT,
    created_at INTEGER NOT NULL,
    removed_at INTEGER
  ) STRICT;
`;
