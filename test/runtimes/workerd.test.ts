// @module-tag long
import { testRuntime } from './runtime-suite.ts';
import { startWorkerd } from './workerd.ts';

testRuntime('workerd', {
  start: startWorkerd,
  adapter: 'hookbox/fetch',
  lacks: {
    'answers to clients that write on':
      'workerd resets a connection that it has ended while the client goes on to write, and the answer is lost',
    'the Connection header': 'workerd does not pass the header Connection on',
    'chunk extensions': 'workerd answers 400 to chunk extensions',
    '100-continue': 'workerd does not say 100 Continue',
    'trimmed headers': 'workerd counts white space after the value of a header among the value',
    'code that outlives its client': 'workerd may stop the code of a request whose client has gone',
  },
});
