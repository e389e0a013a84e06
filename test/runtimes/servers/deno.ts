import * as hookbox from 'hookbox';
import * as adapter from 'hookbox/fetch';
import { memoryInbox } from 'hookbox/memory';
import { sqliteInbox } from 'hookbox/sqlite';
import { fetchServer } from '../fetch-server.ts';
import { endWithParent } from '../end-with-parent.ts';

declare const Deno: {
  readonly version: { readonly deno: string };
  serve(
    options: { hostname: string; port: number; onListen: (address: { port: number }) => void },
    handler: (request: Request, info: unknown) => Promise<Response>,
  ): unknown;
};

Deno.serve(
  {
    hostname: '127.0.0.1',
    port: 0,
    onListen: ({ port }) =>
      console.log(JSON.stringify({ origin: `http://127.0.0.1:${port}`, runtime: `deno ${Deno.version.deno}` })),
  },
  fetchServer({ ...hookbox, memoryInbox, sqliteInbox }, adapter),
);
endWithParent();
