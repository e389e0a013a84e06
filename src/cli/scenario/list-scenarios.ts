import { print, printJson } from '../shared/output.ts';
import { loadScenario, shippedScenarios } from './load-scenario.ts';

/** Prints the scenarios that hookbox brings. */
export async function listScenarios(json: boolean): Promise<void> {
  const names = shippedScenarios();
  const all = [];
  for (const name of names) all.push({ name, about: (await loadScenario(name)).scenario.about });
  if (json) {
    printJson(all);
    return;
  }
  const width = Math.max(...names.map(({ length }) => length));
  for (const { name, about } of all) print(`${name.padEnd(width)}  ${about}`);
}
