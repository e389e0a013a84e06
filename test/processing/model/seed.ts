const wish = process.env['HOOKBOX_MODEL_SEED'];

/**
 * The same histories in every run, so that a commit is judged by what it changed: those of a seed that once found two bugs.
 * `HOOKBOX_MODEL_SEED=random` looks for new ones, and the seed that it prints repeats them.
 */
export const seed = wish === 'random' ? Date.now() % 2 ** 31 : Number(wish ?? 2_125_919_934);
