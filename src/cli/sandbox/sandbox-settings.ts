import { parseDuration } from '../../ops/words/read-time.ts';
import type { Assumptions, PlanLimits, PlanName } from '../../sandbox/index.ts';
import { usageError } from '../shared/output.ts';

/**
 * A plan by its name, or limits of its own: `perSecond=5,perMonth=100`. The sandbox says which there are.
 *
 * @throws CommandError for what is neither
 */
export function planOf(text: string): PlanName | PlanLimits {
  if (!text.includes('=')) return text as PlanName;
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [name, value] = namedValue('--plan', part);
      return [name, Number(value)];
    }),
  );
}

/**
 * What is assumed: numbers, `true` and `false`, and for times also `30s`. The sandbox says what may be.
 *
 * @throws CommandError for what has no name or no value
 */
export function assumptionsOf(texts: readonly string[]): Partial<Assumptions> {
  return Object.fromEntries(
    texts.map((text) => {
      const [name, value] = namedValue('--assume', text);
      return [name, settingOf(name, value)];
    }),
  );
}

function settingOf(name: string, value: string): number | boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  const number = Number(value);
  return Number.isNaN(number) && name.endsWith('Ms') ? (parseDuration(value) ?? number) : number;
}

function namedValue(option: string, text: string): readonly [name: string, value: string] {
  const [, name, value] = /^\s*(\w+)=(\S+)\s*$/.exec(text) ?? [];
  if (name !== undefined && value !== undefined) return [name, value];
  throw usageError(`${option} ${JSON.stringify(text)} must be name=value.`);
}
