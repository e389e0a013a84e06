import { testMemoryOfHttpAdapter } from './conformance/memory.ts';

testMemoryOfHttpAdapter(
  'hookbox/hono, served by @hono/node-server in its own process',
  new URL('./servers/hono.ts', import.meta.url),
);
