/** A new one for each run; `HOOKBOX_MODEL_SEED` repeats the run whose seed was printed. */
export const seed = Number(process.env['HOOKBOX_MODEL_SEED'] ?? Date.now() % 2 ** 31);
