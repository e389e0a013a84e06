import { existsSync, readdirSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { messageOf } from '../../errors.ts';
import { fixturesFolder } from '../../testing/fixtures.ts';
import { CommandError, EXIT, usageError } from '../shared/output.ts';
import { oneLine } from '../../printable.ts';
import { readInput } from '../shared/files.ts';
import { scenarioSchema, type Scenario } from './scenario-schema.ts';

/** A scenario with what it is called. */
export interface LoadedScenario {
  readonly name: string;
  readonly scenario: Scenario;
}

/** The names of the scenarios that hookbox brings. */
export function shippedScenarios(): readonly string[] {
  return readdirSync(shippedFolder())
    .filter((file) => file.endsWith('.json'))
    .map((file) => basename(file, '.json'))
    .toSorted();
}

/**
 * Reads a scenario: a file, standard input for `-`, or one that hookbox brings by its name.
 *
 * @throws CommandError that names the file, the place in it and what is expected there
 */
export async function loadScenario(fileOrName: string): Promise<LoadedScenario> {
  const shipped = shippedScenarios();
  const isFile = fileOrName === '-' || fileOrName.includes(sep) || existsSync(fileOrName);
  if (!isFile && !shipped.includes(fileOrName)) {
    const message = `${fileOrName} is neither a file nor a built-in scenario. The scenarios are: ${shipped.join(', ')}.`;
    throw new CommandError(message, EXIT.notFound);
  }
  const path = isFile ? fileOrName : join(shippedFolder(), `${fileOrName}.json`);
  const name = path === '-' ? 'standard input' : basename(path, '.json');
  return { name, scenario: parsed(path, await readInput(path)) };
}

function parsed(path: string, bytes: Buffer): Scenario {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString());
  } catch (failure) {
    throw usageError(`${path} is not JSON: ${oneLine(messageOf(failure))}`);
  }
  const result = scenarioSchema.safeParse(json);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path: place, message }) => {
    return `${place.length === 0 ? 'the file' : place.map(String).join('.')}: ${message}`;
  });
  throw usageError(`${path} is not a scenario. ${oneLine(issues.join('; '), 1_000)}`);
}

function shippedFolder(): string {
  return join(fixturesFolder(), 'scenarios');
}
