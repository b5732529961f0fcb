// A row-major array of 3 rows and 4 columns, as a column-major library reads it. Held
// against PyTorch and the model of cuBLAS by tests/figures/test_leading_dimension.py.

export const ROWS = 3;
export const COLUMNS = 4;

/** The memory from the array's address on: [row, column], or null between the rows. */
export const memory = (apart) =>
  Array.from({ length: (ROWS - 1) * apart + COLUMNS }, (_, place) => {
    const [row, column] = [Math.floor(place / apart), place % apart];
    return column < COLUMNS ? [row, column] : null;
  });

/** Whether the library refuses a leading dimension: a column would overlap the next. */
export const refused = ({ rows, ld }) => ld < Math.max(1, rows);

/**
 * What the library takes for its matrix of `rows` by `columns` with leading dimension
 * `ld`: for each element, row by row, { place, held, right }. held: what is there, null
 * for an unused element, undefined beyond the end. right: whether it is the element of
 * the transposed array.
 */
export function read({ apart, rows, columns, ld }) {
  const held = memory(apart);
  return Array.from({ length: rows }, (_, i) =>
    Array.from({ length: columns }, (_, j) => {
      const place = i + j * ld;
      const found = held[place];
      const right = Boolean(found) && found[0] === j && found[1] === i;
      return { place, held: found, right };
    }),
  );
}
