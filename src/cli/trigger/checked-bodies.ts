import { bodiesOf, type BodyMaker, type Changes } from './trigger-bodies.ts';

/**
 * What an argument names, as `bodiesOf` says, with the schemas of a module: says what does not fit.
 *
 * @param events - the path of the module; nothing is checked without one
 * @throws CommandError for what is neither a type nor a file, and for a module without schemas
 */
export async function checkedBodies(source: string, changes: Changes, events: string | undefined): Promise<BodyMaker> {
  if (events === undefined) return bodiesOf(source, changes);
  const { schemasIn, tellMisfit } = await import('./own-schemas.ts');
  const schemas = await schemasIn(events);
  const makeBody = await bodiesOf(source, changes, schemas);
  // All of them have the same data.
  await tellMisfit(makeBody(), schemas);
  return makeBody;
}
