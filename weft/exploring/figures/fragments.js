// The matrices of an mma.sync, spread over the registers of 32 lanes.

import { figure, h, picture, rect, s, text } from "./figure.js";
import { SHAPES, held, holder, needed } from "./fragments_rules.js";

const FORMATS = [
  [1, "tf32"],
  [2, "float16"],
  [4, "float8"],
];

const laneOf = ({ at }) => holder("c", ...at)[0];

/** The numbers in a word of a row of `a` or a column of `b`, as a slice along k. */
const slice = (word, packed) => (packed === 1 ? word : `${packed * word}:${packed * (word + 1)}`);

function draw(state, width) {
  const { at, packed, show } = state;
  const lane = laneOf(state);
  const left = 22;
  const gap = 26;
  const side = Math.min((width - left - gap - 1) / 16, 30);
  const tall = Math.min(side + 1, 21);
  const across = left + 8 * side + gap;
  const down = 18 + 8 * tall + 22;
  const corner = { a: [left, down], b: [across, 18], c: [across, down] };
  const out = [];
  const needs = show === "needs";
  for (const [matrix, [rows, columns]] of Object.entries(SHAPES)) {
    const [x0, y0] = corner[matrix];
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        const [x, y] = [x0 + column * side, y0 + row * tall];
        const [owner, register] = holder(matrix, row, column);
        const chosen = matrix === "c" && row === at[0] && column === at[1];
        const row_or_column = matrix === "a" ? row === at[0] : matrix === "b" && column === at[1];
        const marked = needs ? chosen || row_or_column : owner === lane;
        const kind = marked ? "used" : (owner >> 2) % 2 ? "band" : "empty";
        out.push(rect(x, y, side, tall, kind, { "data-pick": `${matrix},${row},${column}` }));
        const label = marked && !needs ? `r${register}` : owner;
        out.push(text(x + side / 2, y + tall / 2 + 3.5, label, `in number${marked ? "" : " dark"}`));
      }
    let d = "";
    for (let i = 0; i <= columns; i++) d += `M${x0 + i * side} ${y0}v${rows * tall}`;
    for (let i = 0; i <= rows; i++) d += `M${x0} ${y0 + i * tall}h${columns * side}`;
    out.push(s("path", { d, class: "grid" }));
    for (let row = 0; row < rows; row += 1)
      if (row % 4 === 0) out.push(text(x0 - 4, y0 + (row + 0.5) * tall + 3.5, row, "letter axis-end"));
  }
  const [x, y] = [corner.c[0] + at[1] * side, corner.c[1] + at[0] * tall];
  out.push(rect(x, y, side, tall, "chosen"));
  const names = { a: `a, 16 × ${8 * packed}`, b: `b, ${8 * packed} × 8`, c: "c, 16 × 8" };
  out.push(text(corner.a[0], corner.a[1] - 6, names.a, "tag"));
  out.push(text(corner.b[0], corner.b[1] - 6, names.b, "tag"));
  out.push(text(corner.c[0], corner.c[1] - 6, names.c, "tag"));
  return {
    code: needs ? product(at, packed) : registers(lane, packed),
    picture: picture(width, down + 16 * tall + 2, out),
    numbers: numbers(at, lane, needs),
    said: needs ? aboutResult(at, lane) : aboutLane(packed),
  };
}

/** What the registers of a lane are called in the matrices. */
function registers(lane, packed) {
  const names = {
    a: ([row, word]) => `a[${row}, ${slice(word, packed)}]`,
    b: ([word, column]) => `b[${slice(word, packed)}, ${column}]`,
    c: ([row, column]) => `c[${row}, ${column}]`,
  };
  return Object.keys(SHAPES).map((matrix) =>
    h("div", {}, held(matrix, lane).map((word) => [h("code", {}, names[matrix](word)), " "])),
  );
}

const product = ([row, column], packed) =>
  h("code", {}, `c[${row}, ${column}] += a[${row}, 0:${8 * packed}] @ b[0:${8 * packed}, ${column}]`);

function numbers([row, column], lane, needs) {
  if (!needs)
    return [
      [lane, "lane"],
      [Math.floor(lane / 4), "g = lane // 4"],
      [lane % 4, "t = lane % 4"],
    ];
  const [first, second] = needed(row, column);
  return [
    [new Set([...first, ...second]).size, "lanes hold its operands"],
    [lane, "is the lane that gets the result"],
  ];
}

function aboutResult([row, column], lane) {
  const [first, second] = needed(row, column);
  const list = (lanes) => `${lanes[0]} to ${lanes.at(-1)}`;
  const where = first[0] === second[0] ? "and they hold the column of b, too" : `and lanes ${list(second)} hold the column of b`;
  return (
    `Lanes ${list(first)} hold the row of a, ${where}. ` +
    "No lane could compute the result alone, so the whole warp executes the instruction."
  );
}

const aboutLane = (packed) =>
  `A word holds ${packed === 1 ? "one number" : `${packed} numbers that are neighbours along k`}. ` +
  "Counted in words, the layout is the same for every format.";

const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};
const within = (value, size) => Math.max(0, Math.min(value, size - 1));

/** The number of c that is chosen when a word of a matrix is. */
function chosen({ at, show }, matrix, row, column) {
  if (matrix === "c") return [row, column];
  if (show === "needs") return matrix === "a" ? [row, at[1]] : [at[0], column];
  return held("c", holder(matrix, row, column)[0])[matrix === "a" && row > 7 ? 2 : 0];
}

export default figure({
  defaults: { show: "holds", packed: 2, at: [3, 2] },
  controls: [
    {
      kind: "choice",
      key: "show",
      label: "Mark what",
      options: [
        ["holds", "a lane holds"],
        ["needs", "a result needs"],
      ],
    },
    { kind: "choice", key: "packed", label: "Format", options: FORMATS },
  ],
  draw,
  pick(state, key) {
    const [matrix, row, column] = key.split(",");
    return { at: chosen(state, matrix, Number(row), Number(column)) };
  },
  hand: ({ at: [row, column] }) => ({
    label: "the chosen number of c; the arrow keys move it",
    words: `row ${row}, column ${column}, in lane ${holder("c", row, column)[0]}`,
    now: column + 8 * row,
    max: 127,
  }),
  key(state, name) {
    const move = MOVES[name];
    if (!move) return null;
    return { at: [within(state.at[0] + move[0], 16), within(state.at[1] + move[1], 8)] };
  },
});
