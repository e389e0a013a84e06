/**
 * As much is kept of an error, and of why an event was skipped. Enough to understand it; more would fill the file with the same
 * stack a thousand times over.
 */
export const ERROR_CHARACTERS = { name: 100, message: 2_000, stack: 8_000, skipped: 500 } as const;
