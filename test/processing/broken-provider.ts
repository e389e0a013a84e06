export const BREAKER = { failures: 3, probeMs: 300 };
export const PROBE_TIMES = { timeoutMs: 1_000, leaseMs: 1_000 };
export const HANDLE_MS = 40;
