// A view of a tensor: its recipe, and where in the storage the recipe leads.

import { figure, h, hatch, number, picture, rect, s, text } from "./figure.js";
import { isContiguous, merged, place, possible, values, viewed } from "./strides_rules.js";

const MOST = 5; // operations in a row
const CELLS = 12;

const tuple = (numbers) => `(${numbers.join(", ")}${numbers.length === 1 ? "," : ""})`;

/** An arrow along a curve, from one point of a line to another, `high` above it. */
function hop(from, to, y, high, kind) {
  const d =
    from === to
      ? `M${from} ${y}C${from - 4} ${y - 24} ${from - 26} ${y - 24} ${from - 7} ${y}`
      : `M${from} ${y}C${from} ${y - high} ${to} ${y - high} ${to} ${y}`;
  return [s("path", { d, class: `hop ${kind}` }), tip(from === to ? to - 7 : to, y, 0, 1, kind)];
}

/** The head of an arrow that comes from the direction opposite to (dx, dy). */
function tip(x, y, dx, dy, kind) {
  const [a, b] = [x - 7 * dx, y - 7 * dy];
  const d = `M${x} ${y}L${a - 4 * dy} ${b - 4 * dx}L${a + 4 * dy} ${b + 4 * dx}Z`;
  return s("path", { d, class: `head ${kind}` });
}

function draw(state, width) {
  const view = viewed(state.operations);
  const [rows, columns] = view.shape;
  const [i, j] = state.at;
  const chosen = place(view, [i, j]);
  const cell = Math.min(48, (width - 2) / CELLS);
  const used = new Set();
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) used.add(place(view, [row, column]));

  const out = [text(1, 12, "storage", "soft")];
  const top = 62;
  const middle = (index) => 1 + (index + 0.5) * cell;
  view.storage.forEach((value, index) => {
    const x = 1 + index * cell;
    const mine = used.has(index);
    out.push(rect(x, top, cell, 28, index === chosen ? "used" : mine ? "band" : "empty"));
    if (!mine) out.push(hatch(x, top, cell, 28, "hatch", 5));
    out.push(rect(x, top, cell, 28, "box"));
    out.push(text(x + cell / 2, top + 18, value, `cell${index === chosen ? " on" : mine ? "" : " over"}`));
    out.push(text(x + cell / 2, top + 41, index, "letter"));
  });
  const steps = [
    ["across", j + 1 < columns, view.strides[1]],
    ["down", i + 1 < rows, view.strides[0]],
  ];
  const labels = [];
  for (const [kind, there, stride] of steps) {
    if (!there) continue;
    const high = 18 + 6 * Math.min(stride, 6);
    const to = middle(chosen + stride);
    out.push(...hop(middle(chosen), to, top, high, kind));
    const x = stride ? (middle(chosen) + to) / 2 : to - 14;
    labels.push(text(x, top - 0.75 * high - 4, `+${stride}`, "cell strong over"));
  }
  out.push(...labels);

  const foot = top + 58;
  const [left, tall] = [24, 30];
  const side = Math.min(cell * 1.3, 46);
  values(view).forEach((row, r) => {
    const y = foot + 12 + r * tall;
    out.push(text(left - 8, y + 19, r, "letter axis-end"));
    row.forEach((value, c) => {
      const x = left + c * side;
      const here = r === i && c === j;
      if (r === 0) out.push(text(x + side / 2, foot + 6, c, "letter"));
      out.push(rect(x, y, side, tall, here ? "used" : "band", { "data-pick": `${r},${c}` }));
      out.push(rect(x, y, side, tall, "box"));
      out.push(text(x + side / 2, y + 19, value, here ? "cell on" : "cell"));
    });
  });
  const [x, y] = [left + (j + 0.5) * side, foot + 12 + (i + 0.5) * tall];
  if (steps[0][1]) {
    out.push(s("path", { d: `M${x + 11} ${y}h${side - 24}`, class: "hop across" }));
    out.push(tip(x + side - 9, y, 1, 0, "across"));
  }
  if (steps[1][1]) {
    out.push(s("path", { d: `M${x} ${y + 8}v${tall - 18}`, class: "hop down" }));
    out.push(tip(x, y + tall - 7, 0, 1, "down"));
  }
  const beside = left + columns * side + 20;
  const sum = [
    `element (${i}, ${j})`,
    `${view.offset} + ${i} · ${view.strides[0]} + ${j} · ${view.strides[1]} = ${chosen}`,
  ];
  sum.forEach((words, line) => out.push(text(beside, foot + 30 + 18 * line, words, line ? "mono" : "soft")));

  const [sizes, strides] = merged(view);
  const free = sizes.length <= 1;
  return {
    code: h("code", {}, view.code),
    picture: picture(width, foot + 16 + rows * tall, out),
    numbers: [
      [tuple(view.shape), "shape"],
      [tuple(view.strides), "strides"],
      [number(view.offset), "offset"],
      [free ? "a view" : "a copy", "reshape(-1) gives", !free && "bad"],
    ],
    said: words(view, free, strides),
  };
}

function words(view, free, strides) {
  const [[rows, columns], [down, across]] = [view.shape, view.strides];
  const moved = view.moved ? `.contiguous() has moved ${view.moved} numbers to a new storage. ` : "";
  if (free && (rows === 1 || columns === 1))
    return `${moved}A dimension of size 1 does not count, so there is nothing to merge.`;
  if (free)
    return (
      `${moved}A row spans ${columns} × ${across} = ${down} places in the storage, as many as a ` +
      `step down: the two dimensions merge into one of ${rows * columns} elements with stride ${strides[0]}` +
      `${isContiguous(view) ? ". The view is contiguous." : ", although the view is not contiguous."}`
    );
  if (down === 0)
    return `${moved}With stride 0, every row has the same numbers. No single stride repeats a row, so reshape(-1) has to copy it.`;
  return (
    `${moved}A row spans ${columns} × ${across} = ${columns * across} places in the storage, but a step down ` +
    `moves by ${down}: the dimensions do not merge, and reshape(-1) has to copy.`
  );
}

const add = (operation) => [
  (now) => ({ operations: [...now.operations, operation] }),
  (now) => now.operations.length < MOST && possible(now.operations, operation),
];

const within = (value, size) => Math.max(0, Math.min(value, size - 1));
const MOVES = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

export default figure({
  defaults: { operations: ["t"], at: [1, 1] },
  fit(state) {
    const { shape } = viewed(state.operations);
    return { ...state, at: state.at.map((index, dim) => within(index, shape[dim])) };
  },
  controls: [
    {
      kind: "buttons",
      key: "next",
      label: "Next operation",
      items: [
        [".t()", ...add("t")],
        ["[1:]", ...add("rows")],
        ["[:, ::2]", ...add("skip")],
        ["[:, :-1]", ...add("narrow")],
        ["[0].expand", ...add("expand")],
        [".contiguous()", ...add("contiguous")],
      ],
    },
    {
      kind: "buttons",
      key: "back",
      label: "Operations so far",
      items: [
        [
          "Back",
          (now) => ({ operations: now.operations.slice(0, -1) }),
          (now) => now.operations.length > 0,
        ],
        ["Start again", () => ({ operations: [] }), (now) => now.operations.length > 0],
      ],
    },
  ],
  draw,
  pick: (state, key) => ({ at: key.split(",").map(Number) }),
  hand(state) {
    const { shape } = viewed(state.operations);
    const [row, column] = state.at;
    return {
      label: "the chosen element; the arrow keys move it",
      words: `row ${row}, column ${column}`,
      now: column + shape[1] * row,
      max: shape[0] * shape[1] - 1,
    };
  },
  key(state, name) {
    const move = MOVES[name];
    return move && { at: [state.at[0] + move[0], state.at[1] + move[1]] };
  },
});
