import type { Removal } from '../../../operator/removal.ts';
import type { Access } from '../access.ts';
import { erasing } from './erasing.ts';
import { pruning } from './pruning.ts';

/** Removing what is stored. */
export function removal(access: Access): Removal {
  return { ...pruning(access), ...erasing(access) };
}
