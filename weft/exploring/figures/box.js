// A box that the TMA copies: which part of the matrix it is, and how it arrives.

import { figure, h, hatch, number, picture, rect, s, text } from "./figure.js";
import { PIECE, PIECES, ROWS, SIDE, box, placed, reading } from "./box_rules.js";

const AROUND = 4; // rows and pieces around the matrix that a box may reach

function lines(x, y, cell, tall, columns, rows) {
  let d = "";
  for (let i = 0; i <= columns; i++) d += `M${x + i * cell} ${y}v${rows * tall}`;
  for (let i = 0; i <= rows; i++) d += `M${x} ${y + i * tall}h${columns * cell}`;
  return s("path", { d, class: "grid" });
}

function draw(state, width) {
  const { row, piece, swizzled, chosen } = state;
  const held = box(state);
  const cells = ROWS + 2 * AROUND;
  const gap = width >= 480 ? 36 : 14;
  const small = Math.min((width - gap) / (cells + 25), 13);
  const cell = Math.min((width - gap - small * cells - 16) / SIDE, 38);
  const top = 22;
  const at = (i, j) => [(j + AROUND) * small, top + (i + AROUND) * small];
  const out = [text(0, 12, "the matrix", "soft")];
  out.push(rect(...at(0, 0), PIECES * small, ROWS * small, "band"));
  out.push(rect(...at(row, piece + chosen), small, SIDE * small, "used"));
  const cut = (n, most) => Math.max(0, Math.min(n, most));
  const [i0, i1] = [cut(row, ROWS), cut(row + SIDE, ROWS)];
  const [j0, j1] = [cut(piece, PIECES), cut(piece + SIDE, PIECES)];
  const [bx, by] = at(row, piece);
  out.push(hatch(bx, by, SIDE * small, SIDE * small, "hatch waste", 5));
  if (i1 > i0 && j1 > j0) {
    out.push(rect(...at(i0, j0), (j1 - j0) * small, (i1 - i0) * small, "thread thin"));
    if (piece + chosen >= 0 && piece + chosen < PIECES)
      out.push(rect(...at(i0, piece + chosen), small, (i1 - i0) * small, "used"));
  }
  out.push(lines(...at(0, 0), small, small, PIECES, ROWS));
  out.push(rect(bx, by, SIDE * small, SIDE * small, "edge"));

  const left = small * cells + gap + 16;
  out.push(text(left, 12, "the box, in shared memory", "soft"));
  held.forEach((places, r) => {
    const y = top + r * cell;
    out.push(text(left - 5, y + cell / 2 + 4, r, "letter axis-end"));
    places.forEach((source, q) => {
      const p = placed(r, q, swizzled); // the permutation is its own inverse
      const x = left + q * cell;
      const mine = p === chosen;
      const kind = mine ? "used" : source ? "band" : "gone";
      out.push(rect(x, y, cell, cell, kind, { "data-pick": p }));
      if (!source) out.push(hatch(x, y, cell, cell, `hatch ${mine ? "out" : "waste"}`, 5));
      if (source) out.push(text(x + cell / 2, y + cell / 2 + 4, p, mine ? "cell on" : "cell"));
    });
  });
  out.push(lines(left, top, cell, cell, SIDE, SIDE));
  const inside = held.flat().filter(Boolean).length;
  const taken = reading(chosen, swizzled);
  return {
    code: h("code", {}, `tma_load(memory, at, map_a, ${(PIECE / 2) * piece}, ${row}, full, stage)`),
    picture: picture(width, top + Math.max(cells * small, SIDE * cell) + 4, out),
    numbers: [
      [number(taken), `${taken === 1 ? "pass" : "passes"} to read piece ${chosen} of 8 rows`, taken > 1 && "bad"],
      [number(inside * PIECE), "bytes from the matrix"],
      [number(SIDE * SIDE * PIECE), "bytes counted at full"],
    ],
    said: words(state, SIDE * SIDE - inside, taken),
  };
}

function words({ swizzled, chosen }, outside, taken) {
  const where = swizzled
    ? `Piece ${chosen} of row r is at place ${chosen} XOR r. The eight pieces are in different banks.`
    : `Piece ${chosen} of every row is at place ${chosen}, in the same four banks: ${taken} passes.`;
  const zeros = ` ${outside} of ${SIDE * SIDE} pieces are outside the matrix: they arrive as zeros, but the barrier full counts their bytes all the same.`;
  return outside ? where + zeros : where;
}

export default figure({
  defaults: { row: 6, piece: 7, swizzled: true, chosen: 2 },
  controls: [
    { kind: "toggle", key: "swizzled", label: "swizzle of 128 bytes" },
    { kind: "range", key: "row", label: "first row", min: -AROUND, max: ROWS - SIDE + AROUND },
    {
      kind: "range",
      key: "piece",
      label: "first column",
      min: -AROUND,
      max: PIECES - SIDE + AROUND,
      text: (piece) => number((PIECE / 2) * piece),
    },
  ],
  draw,
  pick: (state, key) => ({ chosen: Number(key) }),
  hand: ({ chosen }) => ({
    label: "the piece that is read; the arrow keys choose it",
    words: `piece ${chosen}`,
    now: chosen,
    max: SIDE - 1,
  }),
  key({ chosen }, name) {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[name];
    return move && { chosen: Math.max(0, Math.min(chosen + move, SIDE - 1)) };
  },
});
