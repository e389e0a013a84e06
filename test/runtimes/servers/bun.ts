import * as hookbox from 'hookbox';
import * as adapter from 'hookbox/fetch';
import { memoryInbox } from 'hookbox/memory';
import { sqliteInbox } from 'hookbox/sqlite';
import { fetchServer } from '../fetch-server.ts';
import { endWithParent } from '../end-with-parent.ts';

declare const Bun: {
  readonly version: string;
  serve(options: { hostname: string; port: number; fetch: (request: Request, server: unknown) => Promise<Response> }): {
    readonly port: number;
  };
};

const { port } = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: fetchServer({ ...hookbox, memoryInbox, sqliteInbox }, adapter),
});
console.log(JSON.stringify({ origin: `http://127.0.0.1:${port}`, runtime: `bun ${Bun.version}` }));
endWithParent();
