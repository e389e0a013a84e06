/**
 * The mode of every file that hookbox makes. What is in it is other people's orders: who else shall read them is let in by whoever
 * runs the machine. It is given when a file is made, so files that are there already keep theirs.
 */
export const OWNER_ONLY = 0o600;
