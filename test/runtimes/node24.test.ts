import { startProcess } from './runtime-process.ts';
import { testRuntime } from './runtime-suite.ts';
import { testSqliteInbox } from './sqlite-suite.ts';

const command = (): readonly string[] => [process.execPath];
const start = async () => startProcess(command(), 'node.ts');

testRuntime('Node 24', { start, adapter: 'hookbox/node' });
testSqliteInbox('Node 24', command, 'node.ts');
