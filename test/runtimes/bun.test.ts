// @module-tag long
import { part } from '../helpers/parts.ts';
import { startProcess } from './runtime-process.ts';
import { testRuntime } from './runtime-suite.ts';
import { testSqliteInbox } from './sqlite-suite.ts';

const command = (): readonly string[] => [part('.bin/bun')];
const start = async () => startProcess(command(), 'bun.ts');

testRuntime('Bun', {
  start,
  adapter: 'hookbox/fetch',
  lacks: {
    'answers to clients that write on':
      'Bun.serve resets a connection that it has ended while the client goes on to write, and the answer is lost',
  },
});
testSqliteInbox('Bun', command, 'bun.ts');
