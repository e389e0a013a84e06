import type { Logger } from '../../host/logger.ts';

/** For receivers whose command prints itself what they would log. */
export const silentLogger: Logger = { info() {}, warn() {}, error() {} };
