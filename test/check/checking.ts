import { checkEndpoint, type CheckOptions, type CheckReport } from '../../src/cli/check/check-endpoint.ts';
import type { ProbeName } from '../../src/cli/check/probe-names.ts';
import type { Verdict } from '../../src/cli/check/findings.ts';
import { listening } from '../cli/listening.ts';

export const SECRET = 'a secret that only the tests know';

/** Checks what a listener serves at `/webhooks`. Its effects are at `/effects/{id}` unless there are said to be none. */
export async function check(
  listener: Parameters<typeof listening>[0],
  { effects = '/effects/{id}', ...options }: Omit<Partial<CheckOptions>, 'effects'> & { effects?: string | null } = {},
): Promise<CheckReport> {
  const { url, close } = await listening(listener);
  try {
    return await checkEndpoint(url, {
      secret: SECRET,
      settleMs: 300,
      ...(effects !== null && { effects: new URL(url).origin + effects }),
      ...options,
    });
  } finally {
    await close();
  }
}

/** The probes that ended with a verdict. */
export function probesWith(report: CheckReport, verdict: Verdict): readonly ProbeName[] {
  return report.probes.filter((probe) => probe.verdict === verdict).map(({ name }) => name);
}

/** The one finding of a probe. */
export function findingOf(report: CheckReport, name: ProbeName) {
  const probe = report.probes.find((one) => one.name === name);
  const [finding] = probe?.findings ?? [];
  if (finding === undefined) throw new Error(`${name} has no finding`);
  return finding;
}
