// A box of 8 rows of 128 bytes, as the TMA copies it out of a matrix: pieces of 16 bytes.
// Held against the simulator's copies by tests/figures/test_box.py.

import { passes } from "./counting.js";

export const ROWS = 11; // of the matrix
export const PIECES = 11; // in a row of it
export const SIDE = 8; // rows of the box, and pieces in a row of it
export const PIECE = 16; // bytes

/** Where piece `p` of row `r` of the box is put. */
export const placed = (r, p, swizzled) => (swizzled ? p ^ r % SIDE : p);

/**
 * The box in shared memory, row by row, place by place: the [row, piece] of the matrix
 * that is there, null for zeros. `row` and `piece` are where the box begins.
 */
export function box({ row, piece, swizzled }) {
  const rows = Array.from({ length: SIDE }, () => new Array(SIDE).fill(null));
  for (let r = 0; r < SIDE; r++)
    for (let p = 0; p < SIDE; p++) {
      const [i, j] = [row + r, piece + p];
      const inside = i >= 0 && i < ROWS && j >= 0 && j < PIECES;
      rows[r][placed(r, p, swizzled)] = inside ? [i, j] : null;
    }
  return rows;
}

/** How many passes it takes to read piece `p` of all eight rows at once. */
export const reading = (p, swizzled) =>
  passes(
    Array.from({ length: SIDE }, (_, r) => (SIDE * r + placed(r, p, swizzled)) * PIECE),
    PIECE,
  );
