import * as hookbox from 'hookbox';
import * as adapter from 'hookbox/fetch';
import { memoryInbox } from 'hookbox/memory';
import { fetchServer } from '../fetch-server.ts';

// oxlint-disable-next-line import/no-default-export -- this is how workerd finds what to call
export default {
  fetch: fetchServer({ ...hookbox, memoryInbox }, adapter),
};
