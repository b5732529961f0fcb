// Which lane holds which word in an mma.sync of 16 rows and 8 columns. Held against the
// simulator's mma and against chapter 21 by tests/figures/test_fragments.py.

export const SHAPES = { a: [16, 8], b: [8, 8], c: [16, 8] }; // words; of c, numbers

/** The lane that holds a word, and in which of its registers: [lane, register]. */
export function holder(matrix, row, column) {
  if (matrix === "b") return [4 * column + (row % 4), Math.floor(row / 4)];
  const low = Math.floor(row / 8);
  if (matrix === "a") return [4 * (row % 8) + (column % 4), low + 2 * Math.floor(column / 4)];
  return [4 * (row % 8) + Math.floor(column / 2), 2 * low + (column % 2)];
}

/** The words of a lane, in the order of its registers: [[row, column], ...]. */
export function held(matrix, lane) {
  const [group, member] = [Math.floor(lane / 4), lane % 4];
  if (matrix === "b") return [0, 4].map((down) => [member + down, group]);
  const all = [];
  if (matrix === "a")
    for (const right of [0, 4]) for (const down of [0, 8]) all.push([group + down, member + right]);
  else for (const down of [0, 8]) for (const right of [0, 1]) all.push([group + down, 2 * member + right]);
  return all;
}

/** The lanes whose registers a number of c is computed from: those of a, those of b. */
export function needed(row, column) {
  const lanes = (matrix, at) => [...new Set([0, 1, 2, 3, 4, 5, 6, 7].map((k) => holder(matrix, ...at(k))[0]))];
  return [lanes("a", (k) => [row, k]), lanes("b", (k) => [k, column])];
}
