/**
 * The mode of every file that hookbox makes. Such a file holds other people's orders, so only the operators of the machine
 * decide who else may read it. The mode is set when a file is made; files that exist already keep theirs.
 */
export const OWNER_ONLY = 0o600;
