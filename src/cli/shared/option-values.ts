import { InvalidArgumentError } from 'commander';

/** Reads the value of an option as a whole number within bounds. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    const bounds = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Use a whole number ${bounds}.`);
  };
}

/** Reads the value of an option as a number above 0. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError('Use a number above 0.');
}

/** For an option that may be given several times. */
export function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** For an option that takes one of some values. */
export function oneFrom<Value extends string>(values: readonly Value[]): (text: string) => Value {
  return (text) => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new InvalidArgumentError(`Use one of: ${values.join(', ')}.`);
    return value;
  };
}

/** For an option that takes one of some values, and may be given several times. */
export function collectedFrom<Value extends string>(
  values: readonly Value[],
): (text: string, before?: readonly Value[]) => readonly Value[] {
  return (text, before = []) => {
    const value = values.find((each) => each === text);
    if (value === undefined) throw new InvalidArgumentError(`Use one of: ${values.join(', ')}.`);
    return [...before, value];
  };
}
