/** What `--db` says of itself. */
export const DB = 'the inbox; one of an older hookbox gets the tables that this version needs';
