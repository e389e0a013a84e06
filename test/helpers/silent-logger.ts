import type { Logger } from '../../src/host/logger.ts';

/** For tests that provoke failures by the hundred, or look at answers only. */
export const silent: Logger = { info() {}, warn() {}, error() {} };
