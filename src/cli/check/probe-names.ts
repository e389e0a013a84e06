/** The probes in their order, each with the property that it checks. This file imports nothing, so `--help` stays fast. */
export const PROBES = {
  valid: 'accepts a signed delivery',
  'every-type': 'accepts each of the eleven types',
  'unknown-type': 'accepts an unknown type',
  'additional-fields': 'accepts unknown fields',
  'raw-bytes': 'verifies the raw bytes of the body',
  'invalid-utf8': 'answers a body that is not UTF-8',
  unsigned: 'rejects a delivery without a signature',
  'tampered-body': 'rejects a changed body',
  'tampered-signature': 'rejects a changed signature',
  'foreign-signature': 'rejects the signature of a different body',
  'signature-form': 'accepts only 64 lowercase hex digits as a signature',
  'malformed-json': 'rejects a body that is not JSON',
  'forged-malformed-json': 'verifies before it parses',
  'other-methods': 'rejects GET and PUT',
  'stored-first': 'stores before it answers',
  duplicates: 'handles an event once, however often it arrives',
  'duplicates-at-once': 'handles an event once when 16 copies arrive together',
  'one-mebibyte': 'answers a body of 1 MiB',
  'two-mebibytes': 'answers a body of 2 MiB',
  'slow-body': 'answers other deliveries while one body arrives byte by byte',
  'keep-alive': 'answers several deliveries on one connection',
  burst: 'answers 50 concurrent deliveries',
  'in-time': 'answers each delivery in time',
} as const satisfies Readonly<Record<string, string>>;

export type ProbeName = keyof typeof PROBES;

export const probeNames = Object.keys(PROBES) as readonly ProbeName[]; // the keys of the record above
