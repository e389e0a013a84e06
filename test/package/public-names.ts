const WEBHOOK = ['webhookHandler', 'webhookVerifier'];

/** What each export path exports at run time, and nothing else. */
export const PUBLIC_NAMES: Readonly<Record<string, readonly string[]>> = {
  hookbox: [
    'ConfigurationError',
    'HookboxError',
    'InboxOpenError',
    'InboxUnavailableError',
    'PermanentError',
    'TransactionError',
    'createProcessor',
    'createReceiver',
    'createVerifier',
    'entityOf',
    'eventTypes',
    'isKnown',
    'isRefusal',
    'parseEvent',
    'rerun',
    'signBody',
    'verifySignature',
  ],
  'hookbox/sqlite': ['sqliteInbox'],
  'hookbox/memory': ['memoryInbox'],
  'hookbox/testing': ['buildEvent', 'deliverTo', 'signedRequest', 'testInbox'],
  'hookbox/hono': WEBHOOK,
  'hookbox/node': WEBHOOK,
  'hookbox/express': WEBHOOK,
  'hookbox/fastify': WEBHOOK,
  'hookbox/fetch': WEBHOOK,
  'hookbox/aws-lambda': WEBHOOK,
};

export const ADAPTERS = Object.keys(PUBLIC_NAMES).filter((path) => PUBLIC_NAMES[path] === WEBHOOK);
