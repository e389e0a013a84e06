import { positiveWhole } from '../../known-options.ts';
import type { PageRequest } from './filter.ts';

const USUAL_LIMIT = 50;
const MOST = 500;

/**
 * A page's bounds with what was left out filled in; `before` is exclusive.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a limit that is no whole number from 1 to 500
 */
export function pageBounds({ before, limit = USUAL_LIMIT }: PageRequest): { before: number; limit: number } {
  return { before: before ?? Number.MAX_SAFE_INTEGER, limit: positiveWhole('limit', limit, MOST) };
}
