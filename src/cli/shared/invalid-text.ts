import type { Issue } from '../../events/webhook-event.ts';
import { oneLine } from '../../printable.ts';

/** What lines say of an event that was stored as invalid, with what does not fit first. */
export function invalidText(issue: Issue | null): string {
  return `invalid, stored as dead${issue === null ? '' : `: ${issueText(issue)}`}`;
}

/** The path of a field and why it does not fit, without its value. */
export function issueText({ path, message }: Issue): string {
  return oneLine(path === '' ? message : `${path}: ${message}`);
}
