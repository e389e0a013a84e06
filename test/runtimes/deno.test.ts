// @module-tag long
import { part } from '../helpers/parts.ts';
import { startProcess } from './runtime-process.ts';
import { testRuntime } from './runtime-suite.ts';
import { testSqliteInbox } from './sqlite-suite.ts';

// As docs/adapters.md says.
const PERMISSIONS = ['--allow-net', '--allow-env', '--allow-read', '--allow-write', '--allow-ffi', '--allow-sys'];
const command = (): readonly string[] => [part('.bin/deno'), 'run', '--no-prompt', ...PERMISSIONS];
const start = async () => startProcess(command(), 'deno.ts');

testRuntime('Deno', {
  start,
  adapter: 'hookbox/fetch',
  lacks: {
    'the end of a connection':
      'Deno.serve passes Connection: close on and leaves it to the client to end the connection',
    'kept connections':
      'Deno.serve ends the connection after a request whose body was not there with its first 512 bytes',
  },
});
testSqliteInbox('Deno', command, 'deno.ts');
