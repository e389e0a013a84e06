// @module-tag long
import { part } from '../helpers/parts.ts';
import { startProcess } from './runtime-process.ts';
import { testRuntime } from './runtime-suite.ts';
import { testSqliteInbox } from './sqlite-suite.ts';

const command = (): readonly string[] => [part('node26/bin/node')];
const start = async () => startProcess(command(), 'node.ts');

testRuntime('Node 26', { start, adapter: 'hookbox/node' });
testSqliteInbox('Node 26', command, 'node.ts');
