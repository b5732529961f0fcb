// A layout as a matrix: which index each cell has, in which bank it is, who owns it.

import { counted, figure, h, hatch, number, picture, rect, s, text } from "./figure.js";
import { BANKS, fewestPasses } from "./counting.js";
import {
  access,
  bank,
  crd2idx,
  idx2crd,
  owners,
  parse,
  sides,
  size,
  swizzle,
  table,
  written,
} from "./layout_rules.js";

const MOST = 2048; // cells
const WIDEST = 64; // columns
const NONE = [0, 0, 1];
const PRESETS = [
  ["row-major", { layout: "(8,32):(32,1)" }],
  ["column-major", { layout: "(8,32):(1,8)" }],
  ["padded", { layout: "(8,32):(36,1)" }],
  ["interleaved", { layout: "((4,2),(8,4)):((8,128),(1,32))" }],
  ["swizzled", { layout: "(8,32):(32,1)", swizzle: [3, 2, 3] }],
  ["a copy", { layout: "((4,2),(2,2)):((8,1),(4,2))", show: "owner", rows: 4 }],
  ["mma result", { layout: "((4,8),(2,2)):((32,1),(16,8))", show: "owner", rows: 16 }],
];

/** A shade from 0.06 to 0.9 of the dye; dark ones carry light text. */
const shade = (share) => 0.06 + 0.84 * share;

function cellsOf(state, layout) {
  if (state.show === "owner") {
    const most = Math.max(1, size(sides(layout)[0]) - 1);
    return owners(layout, state.rows).map((row) =>
      row.map((own) => ({
        words: own.map(([thread, value]) => `${thread}.${value}`),
        share: own.length ? own[0][0] / most : 0,
        own,
      })),
    );
  }
  const indices = table(layout, state.swizzle);
  const most = Math.max(1, ...indices.flat());
  return indices.map((row) =>
    row.map((index) => {
      const in_ = bank(index, state.bytes);
      const banks = state.show === "bank";
      return {
        index,
        words: [banks ? in_ : index],
        share: banks ? in_ / (BANKS - 1) : index / most,
      };
    }),
  );
}

/** What the warp's access finds: the cells it reads, those in the busiest banks. */
function reading(state, layout) {
  if (state.show === "owner" || state.way === "none") return null;
  const indices = table(layout, state.swizzle);
  const found = access(indices, state.way, state.at, state.bytes);
  if (!found) return { apart: true };
  return { ...found, fewest: fewestPasses(found.addresses, found.piece) };
}

const formula = ({ swizzle: [bits, base, shift], layout }) =>
  bits ? `Swizzle<${bits},${base},${shift}> o ${layout}` : layout;

/** The sum that leads from a coordinate to an index. */
function sum(number, { shape, stride }) {
  const flat = (value) => [value].flat(Infinity);
  const parts = flat(idx2crd(number, shape));
  const terms = flat(stride).map((step, k) => `${parts[k]}·${step}`);
  return terms.join(" + ");
}

function aboutCell(state, layout, cells) {
  const [row, column] = state.at;
  const cell = cells[row]?.[column];
  if (!cell) return "";
  if (state.show === "owner") {
    const those = cell.own.map(([thread, value]) => `value ${value} of thread ${thread}`);
    const at = `Element (${row}, ${column}), coordinate number ${row + state.rows * column}`;
    if (!those.length) return `${at}, belongs to no thread.`;
    const [[thread, value]] = cell.own;
    const whole = thread + sides(layout)[0] * value;
    return `${at}, is ${those.join(" and ")}: ${sum(whole, layout)} = ${crd2idx(whole, layout.shape, layout.stride)}.`;
  }
  const whole = row + cells.length * column;
  const plain = crd2idx(whole, layout.shape, layout.stride);
  const moved = state.swizzle[0] ? `, swizzled to ${swizzle(plain, state.swizzle)}` : "";
  const nested = written(idx2crd(whole, layout.shape));
  return (
    `Cell (${row}, ${column}) is coordinate ${nested}, number ${whole}: ` +
    `${sum(whole, layout)} = ${plain}${moved}, in bank ${bank(cell.index, state.bytes)}.`
  );
}

function aboutAccess(found) {
  if (!found) return "";
  if (found.apart) return " No load can read 16 bytes there: they are not together, or not aligned.";
  const lanes = counted(found.cells.length, "lane");
  if (found.taken === found.fewest)
    return ` A load by ${lanes} has no bank conflict here.`;
  return ` A load by ${lanes} has conflicts: the busiest bank has more words to deliver than one per pass.`;
}

const wrong = (message) => ({
  picture: picture(1, 1),
  numbers: [],
  said: `${message[0].toUpperCase()}${message.slice(1)}.`,
});

function refused(state) {
  let layout;
  try {
    layout = parse(state.layout);
  } catch (error) {
    return error.message;
  }
  const [, columns] = sides(layout);
  if (size(layout.shape) > MOST) return `this figure shows up to ${number(MOST)} cells`;
  if (state.show !== "owner")
    return columns > WIDEST ? `this figure shows up to ${WIDEST} columns` : "";
  const last = Math.max(...table(layout).flat());
  const wide = Math.floor(last / state.rows) + 1;
  return wide > WIDEST ? `with ${state.rows} rows, that tile has ${wide} columns; this figure shows up to ${WIDEST}` : "";
}

/** Which cells are read, and which of them are in a bank that is asked more often. */
function marks(found) {
  const read = new Set();
  const hot = new Set();
  if (found?.cells) {
    const banks = found.addresses.map((address) => Math.floor(address / 4) % BANKS);
    const parts = Math.ceil(found.addresses.length / found.fewest);
    found.cells.forEach((own, lane) => {
      const part = Math.floor(lane / parts);
      const alike = found.addresses.filter(
        (address, k) =>
          Math.floor(k / parts) === part &&
          banks[k] === banks[lane] &&
          Math.floor(address / 4) !== Math.floor(found.addresses[lane] / 4),
      );
      for (const cell of own) (alike.length ? hot : read).add(String(cell));
    });
  }
  return { read, hot };
}

function draw(state, width) {
  const message = refused(state);
  if (message) return wrong(message);
  const layout = parse(state.layout);
  const cells = cellsOf(state, layout);
  const [rows, columns] = [cells.length, cells[0].length];
  const left = 20;
  const side = Math.min((width - left - 1) / columns, 40);
  const tall = Math.min(Math.max(side, 14), 26);
  const found = reading(state, layout);
  const { read, hot } = marks(found);
  const owned = state.show === "owner";
  const longest = Math.max(...cells.flat().map(({ words }) => String(words[0] ?? "").length));
  const room = side >= 6.2 * longest + 3;
  const out = [];
  const every = side >= 15 ? 1 : side >= 9 ? 4 : 8;
  for (let column = 0; column < columns; column += every)
    out.push(text(left + (column + 0.5) * side, 11, column, "letter"));
  const top = 16;
  for (let row = 0; row < rows; row++) {
    const y = top + row * tall;
    out.push(text(left - 5, y + tall / 2 + 4, row, "letter axis-end"));
    for (let column = 0; column < columns; column++) {
      const { words, share } = cells[row][column];
      const x = left + column * side;
      const key = `${row},${column}`;
      const empty = owned && !words.length;
      out.push(
        rect(x, y, side, tall, empty ? "empty" : "used", {
          "data-pick": key,
          "fill-opacity": empty ? null : shade(share),
        }),
      );
      if (hot.has(key)) out.push(hatch(x, y, side, tall, "hatch waste", 4));
      if (read.has(key) || hot.has(key))
        out.push(rect(x + 1, y + 1, side - 2, tall - 2, hot.has(key) ? "wild outline" : "edge"));
      if (room && words.length)
        out.push(
          text(x + side / 2, y + tall / 2 + 3.5, words.length > 1 ? "…" : words[0],
            `in number${shade(share) > 0.65 ? "" : " dark"}${hot.has(key) ? " over" : ""}`),
        );
    }
  }
  out.push(s("path", { d: lines(left, top, side, tall, columns, rows), class: "grid" }));
  const [row, column] = state.at;
  if (cells[row]?.[column])
    out.push(rect(left + column * side, top + row * tall, side, tall, "chosen"));
  return {
    code: h("code", {}, formula(state)),
    picture: picture(width, top + rows * tall + 2, out),
    numbers: numbers(state, layout, found),
    said: aboutCell(state, layout, cells) + aboutAccess(found),
  };
}

function lines(x, y, side, tall, columns, rows) {
  let d = "";
  for (let i = 0; i <= columns; i++) d += `M${x + i * side} ${y}v${rows * tall}`;
  for (let i = 0; i <= rows; i++) d += `M${x} ${y + i * tall}h${columns * side}`;
  return d;
}

function numbers(state, layout, found) {
  const indices = table(layout, state.swizzle).flat();
  const distinct = new Set(indices).size;
  if (state.show === "owner") {
    const [threads, values] = sides(layout);
    return [
      [number(threads), "threads"],
      [number(values), values === 1 ? "value each" : "values each"],
      [number(distinct), "elements", distinct < indices.length && "bad"],
    ];
  }
  const out = [
    [number(indices.length), "coordinates"],
    [number(distinct), "different indices", distinct < indices.length && "bad"],
    [number(Math.max(...indices) + 1), "elements of memory"],
  ];
  if (found?.cells) {
    out.push([number(found.taken), found.taken === 1 ? "pass" : "passes", found.taken > found.fewest && "bad"]);
    out.push([number(found.fewest), "at best"]);
  }
  return out;
}

const within = (value, most) => Math.max(0, Math.min(value, most));

/** The rows and columns that are shown, [1, 1] for what is no layout. */
function extent(state) {
  if (refused(state)) return [1, 1];
  const layout = parse(state.layout);
  if (state.show !== "owner") return sides(layout);
  const last = Math.max(...table(layout).flat());
  return [state.rows, Math.floor(last / state.rows) + 1];
}

const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

export default figure({
  defaults: {
    layout: "(8,32):(32,1)",
    swizzle: NONE,
    show: "index",
    way: "none",
    bytes: 4,
    rows: 16,
    at: [1, 2],
  },
  fit(state) {
    const [rows, columns] = extent(state);
    const [row, column] = state.at;
    return { ...state, at: [within(row, rows - 1), within(column, columns - 1)] };
  },
  controls: [
    {
      kind: "buttons",
      key: "presets",
      label: "Presets",
      items: PRESETS.map(([words, change]) => [
        words,
        (now) => ({
          swizzle: NONE,
          show: now.show === "owner" ? "index" : now.show,
          ...change,
        }),
      ]),
    },
    { kind: "text", key: "layout", label: "Layout", columns: 34 },
    {
      kind: "choice",
      key: "show",
      label: "A cell shows",
      options: [
        ["index", "index"],
        ["bank", "bank"],
        ["owner", "thread.value"],
      ],
    },
    {
      kind: "choice",
      key: "way",
      label: "A warp reads a",
      when: (state) => state.show !== "owner",
      options: [
        ["none", "nothing"],
        ["row", "row"],
        ["column", "column"],
        ["pieces", "column of 16 bytes"],
      ],
    },
    {
      kind: "choice",
      key: "bytes",
      label: "Bytes per element",
      when: (state) => state.show !== "owner",
      options: [2, 4, 8].map((bytes) => [bytes, String(bytes)]),
    },
    {
      kind: "range",
      key: "rows",
      label: "rows of the tile",
      min: 1,
      max: 64,
      when: (state) => state.show === "owner",
    },
  ],
  draw,
  pick: (state, key) => ({ at: key.split(",").map(Number) }),
  hand(state) {
    const [rows, columns] = extent(state);
    const [row, column] = state.at;
    return {
      label: "the chosen cell; the arrow keys move it",
      words: `row ${row}, column ${column}`,
      now: row + rows * column,
      max: rows * columns - 1,
    };
  },
  key(state, name) {
    const move = MOVES[name];
    return move && { at: [state.at[0] + move[0], state.at[1] + move[1]] };
  },
});
