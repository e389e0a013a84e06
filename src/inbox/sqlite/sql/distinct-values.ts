/**
 * The values of a column, each once, as `name (as)` of a WITH RECURSIVE; the last one is NULL. Where a partial index of this
 * condition begins with the column, that is one step through it for each value, however many events have it.
 */
export function distinctValues(name: string, as: string, column: string, where: string): string {
  const least = (more: string): string => `SELECT min(${column}) FROM hookbox_events WHERE ${where}${more}`;
  return `${name} (${as}) AS (
    ${least('')}
    UNION ALL
    SELECT (${least(` AND ${column} > ${name}.${as}`)})
    FROM ${name} WHERE ${name}.${as} IS NOT NULL
  )`;
}

/**
 * The endpoints and types with something in a partial index of (endpoint, type, …), as `lanes (endpoint, type)` of a WITH
 * RECURSIVE, by two steps through it for each: the next type of the endpoint, else the next endpoint. As one comparison of
 * both columns SQLite would walk through all of an endpoint's.
 */
export function distinctLanes(where: string, most: number): string {
  const first = (more: string, order: string): string =>
    `SELECT seq FROM hookbox_events WHERE ${where} AND ${more} ORDER BY ${order} LIMIT 1`;
  return `lanes (endpoint, type) AS (
    SELECT * FROM (SELECT endpoint, type FROM hookbox_events WHERE ${where} ORDER BY endpoint, type LIMIT 1)
    UNION ALL
    SELECT next.endpoint, next.type FROM lanes CROSS JOIN hookbox_events AS next
    WHERE next.seq = coalesce(
      (${first('endpoint = lanes.endpoint AND type > lanes.type', 'type')}),
      (${first('endpoint > lanes.endpoint', 'endpoint, type')})
    )
    LIMIT ${most}
  )`;
}
