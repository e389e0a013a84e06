/** What one check has found. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly what: string;
  /** what to change; `null` where nothing has to be */
  readonly advice: string | null;
}

/** All is well. */
export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what, advice: null };
}

/** It works, and may not go well for ever. */
export function warning(check: string, what: string, advice: string): Finding {
  return { check, status: 'warning', what, advice };
}

/** A receiver cannot run, or cannot keep what it is given. */
export function problem(check: string, what: string, advice: string): Finding {
  return { check, status: 'problem', what, advice };
}
