// A grid of blocks of threads over an array: which thread handles which element.

import { counted, figure, h, hatch, picture, rect, s, text } from "./figure.js";
import { WARP } from "./counting.js";

const AXES = "xyz";
const NAMES = { 1: ["i"], 2: ["col", "row"], 3: ["i", "j", "k"] };
const SHAPES = {
  2: [[8, 8], [16, 4], [4, 4], [8, 2]],
  3: [[4, 4, 2], [8, 2, 2], [2, 2, 4]],
};

/** The launch of a state: { size, block, grid, all }, three numbers each. */
export function launch(state) {
  const { dims } = state;
  const size = [state.n, dims > 1 ? state.m : 1, dims > 2 ? state.d : 1];
  const block =
    dims === 1 ? [state.threads, 1, 1] : [...SHAPES[dims][state.shape], 1].slice(0, 3);
  const round = state.up ? Math.ceil : Math.floor;
  const grid = size.map((n, axis) => Math.max(1, round(n / block[axis])));
  return { size, block, grid, all: grid.map((g, axis) => g * block[axis]) };
}

/** The thread at global indices `at`: its block, its place there, warp and lane. */
export function thread(at, block) {
  const inner = at.map((i, axis) => i % block[axis]);
  const rank = inner[0] + block[0] * (inner[1] + block[1] * inner[2]);
  return {
    block: at.map((i, axis) => Math.floor(i / block[axis])),
    inner,
    warp: Math.floor(rank / WARP),
    lane: rank % WARP,
  };
}

const inside = (at, size) => at.every((i, axis) => i < size[axis]);
const same = (a, b) => a.every((i, axis) => i === b[axis]);

function kindOf(at, size, guard) {
  if (inside(at, size)) return "thread";
  return guard ? "idle" : "wild";
}

function cell(x, y, side, at, state, size) {
  const mine = same(at, state.at);
  const kind = kindOf(at, size, state.guard);
  return [
    rect(x, y, side, side, `${kind}${mine ? " mine" : ""}`, { "data-pick": at.join() }),
    kind === "idle" && !mine && hatch(x, y, side, side, "hatch", 6),
  ];
}

/** One dimension: each thread above its element. */
function line(state, width) {
  const { size, block, grid, all } = launch(state);
  const space = 10;
  const most = width >= 560 ? 27 : 24;
  const side = Math.min(most, (width - 2) / block[0] - 0.01);
  const one = block[0] * side + space;
  const across = Math.max(1, Math.floor((width - 1 + space) / one));
  const tall = 2 * side + 50;
  const out = [];
  const blocks = Math.max(grid[0], Math.ceil(size[0] / block[0]));
  for (let b = 0; b < blocks; b++) {
    const x0 = 1 + (b % across) * one;
    const y0 = Math.floor(b / across) * tall;
    const launched = b < grid[0];
    out.push(text(x0, y0 + 13, launched ? `block ${b}` : "not launched", "soft"));
    for (let t = 0; t < block[0]; t++) {
      const i = b * block[0] + t;
      const x = x0 + t * side;
      const [y, below] = [y0 + 20, y0 + 28 + side];
      const mine = i === state.at[0];
      const label = side > 15;
      if (launched) {
        out.push(...cell(x, y, side, [i, 0, 0], state, size));
        const over = kindOf([i, 0, 0], size, state.guard) === "idle" ? "over" : "";
        const kind = `cell ${mine ? "on" : over}`;
        if (label) out.push(text(x + side / 2, y + side / 2 + 4, t, kind));
      }
      if (i < size[0]) {
        out.push(rect(x, below, side, side, launched ? "element" : "left"));
        const words = launched ? i : "?";
        if (label) out.push(text(x + side / 2, below + side / 2 + 4, words, "cell"));
        if (launched && mine)
          out.push(s("path", { d: `M${x + side / 2} ${y + side}v8`, class: "link" }));
      } else if (launched && !state.guard) {
        out.push(text(x + side / 2, below + side / 2 + 4, "✗", "cell warn"));
      }
    }
  }
  return picture(width, Math.ceil(blocks / across) * tall - 18, out);
}

/** One slice of a grid: blocks apart, the array outlined. */
function slice(x0, y0, side, z, state) {
  const { size, block, all } = launch(state);
  const space = Math.max(3, side / 4);
  const at = (i, axis) => i * side + Math.floor(i / block[axis]) * space;
  const out = [];
  for (let y = 0; y < Math.max(all[1], size[1]); y++)
    for (let x = 0; x < Math.max(all[0], size[0]); x++) {
      const place = [x0 + at(x, 0), y0 + at(y, 1)];
      if (x < all[0] && y < all[1] && z < all[2])
        out.push(cell(...place, side, [x, y, z], state, size));
      else if (inside([x, y, z], size)) out.push(rect(...place, side, side, "left"));
    }
  if (z < size[2]) {
    const far = [at(size[0] - 1, 0) + side, at(size[1] - 1, 1) + side];
    out.push(rect(x0 - 1.5, y0 - 1.5, far[0] + 3, far[1] + 3, "edge"));
  }
  return out;
}

function plane(state, width) {
  const { size, block, all } = launch(state);
  const slices = Math.max(all[2], size[2]);
  const across = slices === 1 ? 1 : Math.min(slices, width >= 560 ? 4 : 2);
  const space = 22;
  const room = (width - 4 - (across - 1) * space) / across;
  const columns = Math.max(all[0], size[0]);
  const rows = Math.max(all[1], size[1]);
  const gaps = (n, axis) => Math.ceil(n / block[axis]) - 1;
  const side = Math.min(21, room / (columns + gaps(columns, 0) / 3.5));
  const gap = Math.max(3, side / 4);
  const tall = rows * side + gaps(rows, 1) * gap + 30;
  const out = [];
  for (let z = 0; z < slices; z++) {
    const x = 2 + (z % across) * (room + space);
    const y = Math.floor(z / across) * tall;
    const words = slices === 1 ? `${size[1]} rows of ${size[0]}, outlined` : `z = ${z}`;
    out.push(text(x, y + 12, words, "soft"), slice(x, y + 20, side, z, state));
  }
  return picture(width, Math.ceil(slices / across) * tall, out);
}

const term = (name, amount, kind = "") =>
  h("span", { class: kind }, name, h("b", {}, String(amount)));

function sum(axis, state, { size, block }) {
  const { block: b, inner } = thread(state.at, block);
  const letter = AXES[axis];
  const good = state.at[axis] < size[axis];
  return h(
    "span",
    { class: "sum" },
    term(NAMES[state.dims][axis], state.at[axis]),
    term("=", "="),
    term(`blockIdx.${letter}`, b[axis]),
    term("*", "×"),
    term(`blockDim.${letter}`, block[axis]),
    term("+", "+"),
    term(`threadIdx.${letter}`, inner[axis]),
    term(`< ${size[axis]}`, good ? "yes" : "no", good ? "" : "bad"),
  );
}

function draw(state, width) {
  const shape = launch(state);
  const { size, block, grid, all } = shape;
  const { warp, lane } = thread(state.at, block);
  const threads = all.reduce((a, b) => a * b);
  const elements = size.reduce((a, b) => a * b);
  const covered = all.map((n, axis) => Math.min(n, size[axis])).reduce((a, b) => a * b);
  const surplus = threads - covered;
  const missed = elements - covered;
  const who = `Lane ${lane} of warp ${warp} in its block.`;
  let said = `${who} ${surplus ? `The guard stops ${counted(surplus, "thread")}.` : "No thread is left without an element."}`;
  if (surplus && !state.guard)
    said = `No guard: ${counted(surplus, "thread")} ${surplus === 1 ? "touches" : "touch"} memory outside the array.`;
  if (missed) said += ` ${counted(missed, "element")} ${missed === 1 ? "has" : "have"} no thread, and no error tells you.`;
  const tuple = (v) => (state.dims === 1 ? v[0] : `(${v.slice(0, state.dims).join(", ")})`);
  return {
    code: Array.from({ length: state.dims }, (_, axis) => sum(axis, state, shape)),
    picture: state.dims === 1 ? line(state, width) : plane(state, width),
    numbers: [
      [tuple(grid), state.dims === 1 && grid[0] === 1 ? "block" : "blocks"],
      [tuple(block), "threads each"],
      [threads, "threads"],
      [elements, "elements"],
      [surplus, "surplus", surplus && !state.guard && "bad"],
      ...(missed ? [[missed, "left out", "bad"]] : []),
    ],
    said,
  };
}

const STEPS = {
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
  ArrowDown: [1, 1],
  ArrowUp: [1, -1],
  PageDown: [2, 1],
  PageUp: [2, -1],
};

function key(state, name) {
  if (!STEPS[name]) return null;
  let [axis, by] = STEPS[name];
  if (state.dims === 1 && axis === 1) axis = 0;
  const { all } = launch(state);
  const at = [...state.at];
  at[axis] = Math.min(all[axis] - 1, Math.max(0, at[axis] + by));
  return { at };
}

export default figure({
  defaults: {
    dims: 1, n: 21, m: 12, d: 3, threads: 8, shape: 0, up: true, guard: true, at: [13, 0, 0],
  },
  fit(state) {
    const most = { 1: 40, 2: 28, 3: 10 }[state.dims];
    const shapes = SHAPES[state.dims]?.length ?? 1;
    state = {
      ...state,
      n: Math.min(state.n, most),
      m: Math.min(state.m, state.dims === 3 ? 8 : 16),
      shape: Math.min(state.shape, shapes - 1),
    };
    const { all } = launch(state);
    const at = [0, 1, 2].map((axis) => Math.min(state.at[axis] ?? 0, all[axis] - 1));
    return { ...state, at };
  },
  controls: [
    {
      kind: "choice",
      key: "dims",
      label: "Dimensions",
      options: [[1, "1"], [2, "2"], [3, "3"]],
    },
    ...[2, 3].map((dims) => ({
      kind: "choice",
      key: "shape",
      label: "Threads per block",
      options: SHAPES[dims].map((shape, i) => [i, `(${shape.join(", ")})`]),
      when: (state) => state.dims === dims,
    })),
    {
      kind: "choice",
      key: "up",
      label: "Number of blocks",
      options: [[true, "rounded up"], [false, "rounded down"]],
    },
    { kind: "toggle", key: "guard", label: "guard" },
    {
      kind: "range",
      key: "n",
      label: "elements",
      min: 1,
      max: 40,
      when: (state) => state.dims === 1,
    },
    {
      kind: "range",
      key: "threads",
      label: "threads per block",
      min: 1,
      max: 16,
      when: (state) => state.dims === 1,
    },
    {
      kind: "range",
      key: "n",
      label: "columns",
      min: 1,
      max: 28,
      when: (state) => state.dims === 2,
    },
    {
      kind: "range",
      key: "m",
      label: "rows",
      min: 1,
      max: 16,
      when: (state) => state.dims === 2,
    },
    ...[["n", "along x", 10], ["m", "along y", 8], ["d", "along z", 6]].map(
      ([name, label, max]) => ({
        kind: "range",
        key: name,
        label,
        min: 1,
        max,
        when: (state) => state.dims === 3,
      }),
    ),
  ],
  draw,
  key,
  pick: (state, data) => ({ at: data.split(",").map(Number) }),
  hand(state) {
    const { all, block } = launch(state);
    const { block: b, inner } = thread(state.at, block);
    const [x, y, z] = state.at;
    return {
      label: "the chosen thread; use the arrow keys to move",
      words: `thread ${inner.slice(0, state.dims)} of block ${b.slice(0, state.dims)}`,
      now: x + all[0] * (y + all[1] * z),
      max: all[0] * all[1] * all[2] - 1,
    };
  },
});
