import { pageHandler } from 'hookbox/fetch';
import { thePage } from '../../../lib/page.js';

export const runtime = 'nodejs';

export function GET(request) {
  return pageHandler(thePage())(request);
}

export const POST = GET;
