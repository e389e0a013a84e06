import { oneLine } from '../../printable.ts';

const NAME_CHARACTERS = 100;
export const RESULT_BYTES = 65_536;

export function isStepName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= NAME_CHARACTERS && name === oneLine(name);
}

export function isStepResult(json: string): boolean {
  try {
    JSON.parse(json);
    return Buffer.byteLength(json) <= RESULT_BYTES;
  } catch {
    return false;
  }
}
