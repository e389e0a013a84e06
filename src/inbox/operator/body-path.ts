import { ConfigurationError } from '../../errors.ts';

/** A step into a body: the name of a field, or a place in a list. */
export type BodyStep = string | number;

const NAME_AND_PLACES = /^([^[\]]+)((?:\[\d{1,9}\])*)$/;

/**
 * The steps of a path such as `data.items[0].name`. Names are taken as they are, so one with a dot or a bracket in it cannot
 * be said; two paths lead to the same place only if their steps are the same.
 *
 * @throws ConfigurationError `INVALID_OPTION` for what is no path
 */
export function bodyPath(path: string): readonly BodyStep[] {
  return path.split('.').flatMap((part) => {
    const [, name, places] = NAME_AND_PLACES.exec(part) ?? [];
    if (name === undefined || places === undefined) {
      throw new ConfigurationError(
        'INVALID_OPTION',
        `${JSON.stringify(path.slice(0, 200))} is not a body path. Write a path such as data.items[0].name.`,
      );
    }
    return [name, ...Array.from(places.matchAll(/\d+/g), Number)];
  });
}
