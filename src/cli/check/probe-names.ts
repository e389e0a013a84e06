/**
 * Every probe, in the order in which they run, with what it finds true of a right endpoint. Light, for `--help`. A new one
 * also has its function in probes/, and a line in `RUN` of check-endpoint.ts.
 */
export const PROBES = {
  valid: 'takes a signed delivery',
  'every-type': 'takes each of the eleven types',
  'unknown-type': 'takes a type it does not know',
  'additional-fields': 'takes fields it does not know',
  'raw-bytes': 'verifies the bytes as they were sent',
  'invalid-utf8': 'survives bytes that are no UTF-8',
  unsigned: 'refuses what is not signed',
  'tampered-body': 'refuses a body that was changed',
  'tampered-signature': 'refuses a signature that was changed',
  'foreign-signature': 'refuses the signature of another body',
  'signature-form': 'takes nothing but 64 lowercase hex digits for a signature',
  'malformed-json': 'refuses what is no JSON',
  'forged-malformed-json': 'verifies before it parses',
  'other-methods': 'refuses GET and PUT',
  'stored-first': 'stores before it answers',
  duplicates: 'takes an event once, however often it comes',
  'duplicates-at-once': 'takes an event once when 16 copies come at once',
  'one-mebibyte': 'answers a body of 1 MiB',
  'two-mebibytes': 'answers a body of 2 MiB',
  'slow-body': 'answers others while one body arrives byte by byte',
  'keep-alive': 'answers one delivery after the other on a connection',
  burst: 'answers 50 deliveries at once',
  'in-time': 'answers each delivery in time',
} as const satisfies Readonly<Record<string, string>>;

/** What a probe is called by, on the command line and in the report. */
export type ProbeName = keyof typeof PROBES;

/** In the order in which they run. */
export const probeNames = Object.keys(PROBES) as readonly ProbeName[]; // the keys of the record above
