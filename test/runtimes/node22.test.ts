// @module-tag long
import { part } from '../helpers/parts.ts';
import { startProcess } from './runtime-process.ts';
import { testRuntime } from './runtime-suite.ts';
import { testSqliteInbox } from './sqlite-suite.ts';

const command = (): readonly string[] => [part('node22/bin/node')];
const start = async () => startProcess(command(), 'node.ts');

testRuntime('Node 22', { start, adapter: 'hookbox/node' });
testSqliteInbox('Node 22', command, 'node.ts');
