// A training step's kernels one after the other, out of rows as results/ has them:
// [name, seconds] each.

export const STEPS = 2; // steps that are measured together

/** The kernels as { name, start, end }, in order; a row that is their sum is left out. */
export function spans(rows) {
  let now = 0;
  return rows
    .filter(([name]) => !name.startsWith("all "))
    .map(([name, seconds]) => ({ name, start: now, end: (now += seconds) }));
}

/** How long one step takes in the row of that name; null where there is none. */
export function step(rows, name) {
  const row = rows.find(([other]) => other === name);
  return row ? row[1] / STEPS : null;
}

/** The kinds of a profile as { name, seconds } of one step. */
export const kinds = (rows) =>
  rows.map(([name, seconds]) => ({ name, seconds: seconds / STEPS }));

/** A time as pages write it, in three digits: "45.2 µs". */
export const micros = (seconds) => `${(1e6 * seconds).toPrecision(3)} µs`;
