// A tile in shared memory, as a kernel indexes it and as it is laid out in the 32 banks.

import { counted, figure, h, hatch, number, picture, rect, s, text } from "./figure.js";
import {
  BANKS,
  WARP,
  WORD,
  fewestPasses,
  passes,
  tileAddress,
  tilePattern,
  touched,
  wordsPerBank,
} from "./counting.js";

const ROWS = 32;
const BYTES = 128; // a row of the tile, and one word of every bank
const INDEX = {
  row: (at) => (n) => (n === BANKS ? `[${at}, lane]` : `[${at} + lane // ${n}, lane % ${n}]`),
  column: (at) => () => `[lane, ${at}]`,
  diagonal: (at) => (n) => `[lane, ${at ? `(lane + ${at})` : "lane"}${at || n < BANKS ? ` % ${n}` : ""}]`,
  same: (at) => (n) => `[${at}, ${at % n}]`,
};

function grid(x, y, width, height, columns, rows) {
  let d = "";
  for (let i = 0; i <= columns; i++) d += `M${x + (i * width) / columns} ${y}v${height}`;
  for (let i = 0; i <= rows; i++) d += `M${x} ${y + (i * height) / rows}h${width}`;
  return s("path", { d, class: "grid" });
}

/** The tile as the kernel sees it: rows and columns. */
function logical(x, y, side, { size }, cells) {
  const columns = BYTES / size;
  const [width, height] = [side / columns, side / ROWS];
  return [
    rect(x, y, side, side, "empty"),
    ...cells.map(([row, col]) =>
      rect(x + col * width, y + row * height, width, height, "used"),
    ),
    grid(x, y, side, side, columns, ROWS),
  ];
}

/** Shared memory as it is: 32 words of 4 bytes in a row, one a bank. */
function physical(x, y, side, rows, words, padding) {
  const cell = side / BANKS;
  const top = new Map(rows.map((row, i) => [row, y + i * cell]));
  const at = (word) => [x + (word % BANKS) * cell, top.get(Math.floor(word / BANKS))];
  return [
    rect(x, y, side, rows.length * cell, "empty"),
    ...padding.flatMap((word) => [
      rect(...at(word), cell, cell, "gone"),
      hatch(...at(word), cell, cell, "hatch", 3),
    ]),
    ...words.map((word) => rect(...at(word), cell, cell, "used")),
    grid(x, y, side, rows.length * cell, BANKS, rows.length),
  ];
}

/** The words of a padded tile that hold nothing. */
function paddingOf({ size, layout }) {
  if (layout !== "padded") return [];
  const words = [];
  for (let row = 0; row < ROWS; row++)
    for (let byte = 0; byte < size; byte += WORD)
      words.push((row * (BYTES + size) + BYTES + byte) / WORD);
  return words;
}

const upTo = (n) => Array.from({ length: n }, (_, i) => i);

/** The rows of memory that are shown: all of the tile, or those a trace touched. */
function rowsOf({ size, layout, addresses }, words) {
  if (!addresses) return upTo(ROWS + (layout === "padded" ? (ROWS * size) / BYTES : 0));
  const hit = [...new Set(words.map((word) => Math.floor(word / BANKS)))];
  return hit.at(-1) < ROWS + 1 ? upTo(Math.max(hit.at(-1) + 1, 4)) : hit;
}

/** Under each bank, how many words it has to deliver; the busiest are marked. */
function queues(x, y, side, parts) {
  const cell = side / BANKS;
  const most = Math.max(...parts.map((banks) => Math.max(...banks)));
  const height = Math.min(6, 42 / Math.max(1, ...sums(parts)));
  const out = [];
  for (let bank = 0; bank < BANKS; bank++) {
    let top = y;
    for (const banks of parts) {
      const tall = banks[bank] * height;
      const hot = banks[bank] === most && most > 1;
      if (tall) out.push(rect(x + bank * cell + 1, top, cell - 2, tall, hot ? "hot" : "used"));
      if (tall && hot) out.push(hatch(x + bank * cell + 1, top, cell - 2, tall, "hatch out", 4));
      top += tall + (tall ? 1 : 0);
    }
  }
  return out;
}

const sums = (parts) => parts[0].map((_, bank) => parts.reduce((n, p) => n + p[bank], 0));

/** Draw a request; a trace's has `addresses` of its own. */
export function draw(state, width) {
  const { size, layout } = state;
  const columns = BYTES / size;
  const cells = state.addresses ? [] : tilePattern(state.pattern, size, state.at);
  const addresses =
    state.addresses ?? cells.map(([row, col]) => tileAddress(row, col, size, layout));
  const parts = wordsPerBank(addresses, size);
  const taken = passes(addresses, size);
  const fewest = fewestPasses(addresses, size);
  const busiest = Math.max(...parts.map((banks) => Math.max(...banks)));

  const wide = width >= 620;
  // Of a trace it is not known how the tile is written.
  const both = !state.addresses && width >= 280;
  const gap = wide ? 28 : 14;
  const small = wide ? (width - gap) / 2 : 0.32 * width; // the tile as it is written
  const left = both ? small + gap : 1;
  const side = both ? width - left - 1 : wide ? small : width - 2;
  const words = touched(addresses, size, WORD);
  const rows = rowsOf(state, words);
  const memory = (rows.length * side) / BANKS;
  const tallest = state.addresses ? memory : side * (1 + 16 / BYTES);
  const y = 20;
  const children = [];
  if (both) {
    children.push(text(1, 12, wide ? `the tile, ${ROWS} rows of ${columns}` : "the tile", "soft"));
    children.push(...logical(1, y, small - 1, state, cells));
  }
  children.push(text(left, 12, "in memory: each column is a bank", "soft"));
  children.push(...physical(left, y, side, rows, words, paddingOf(state)));
  const foot = y + (wide ? tallest : memory) + 14;
  const under = y + memory + 14;
  children.push(text(left, under, "bank 0", "soft"));
  children.push(text(left + side, under, "31", "soft end"));
  children.push(text(left + side / 2, under, "words to deliver", "soft mid"));
  children.push(...queues(left, under + 7, side, parts));

  const conflicts = taken - fewest;
  const said =
    conflicts > 0
      ? `The busiest bank has ${counted(busiest, "word")} to deliver` +
        `${parts.length > 1 ? ", in each part of the request" : ""}, ` +
        `so the request takes ${counted(taken, "pass", "passes")} instead of ${number(fewest)}.`
      : new Set(addresses).size === 1
        ? "All lanes ask for the same word. It is read once and sent to all of them."
        : `No bank is asked twice in a pass. ${fewest > 1 ? `A pass moves 128 bytes, so ${number(fewest)} passes are the minimum.` : "One pass serves the whole warp."}`;
  return {
    code: state.code ?? [
      h("span", {}, "Each lane reads "),
      h("code", {}, `tile${INDEX[state.pattern](state.at)(columns)}`),
      layout === "swizzled" && h("span", {}, ", kept in column "),
      layout === "swizzled" &&
        h("code", {}, columns === BANKS ? "col ^ row" : `col ^ (row % ${columns})`),
      layout === "padded" && h("span", {}, " of a tile "),
      layout === "padded" && h("code", {}, `(${ROWS}, ${columns + 1})`),
    ],
    picture: picture(width, foot + 54, children),
    numbers: [
      [number(taken), taken === 1 ? "pass" : "passes", conflicts > 0 && "bad"],
      [number(fewest), "at best"],
      [number(conflicts), "conflicts", conflicts > 0 && "bad"],
    ],
    said,
  };
}

export default figure({
  defaults: { pattern: "column", layout: "plain", size: 4, at: 2 },
  fit: (state) => ({ ...state, at: Math.min(state.at, WARP - 1) }),
  controls: [
    {
      kind: "choice",
      key: "pattern",
      label: "The warp reads",
      options: [
        ["row", "row"],
        ["column", "column"],
        ["diagonal", "diagonal"],
        ["same", "one cell"],
      ],
    },
    {
      kind: "choice",
      key: "layout",
      label: "The tile is",
      options: [
        ["plain", "plain"],
        ["padded", "padded"],
        ["swizzled", "swizzled"],
      ],
    },
    {
      kind: "choice",
      key: "size",
      label: "Bytes per element",
      options: [4, 8, 16].map((size) => [size, String(size)]),
    },
    {
      kind: "range",
      key: "at",
      label: "which one",
      max: (state) => (state.pattern === "row" ? WARP : BYTES / state.size) - 1,
    },
  ],
  draw,
});
