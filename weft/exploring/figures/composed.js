// Two layouts, one after the other: where a coordinate goes through B and then through A.

import { figure, h, number, picture, rect, s, text } from "./figure.js";
import { at, cosize, modes, tried } from "./composed_rules.js";
import { idx2crd, parse, size, written } from "./layout_rules.js";

const MOST = 64; // cells of B, and of A
const WIDEST = 128; // elements of memory
const ROOM = 17; // pixels for a cell with a number of two digits
const TALL = 24;
const PRESETS = [
  ["every second", { a: "(6,2):(8,2)", b: "6:2" }],
  ["two modes", { a: "(6,2):(8,2)", b: "(4,3):(3,1)" }],
  ["row by row", { a: "20:2", b: "(5,4):(4,1)" }],
  ["a copy", { a: "(4,8):(8,1)", b: "((2,4),4):((16,1),4)" }],
  ["none", { a: "(6,2):(8,2)", b: "3:4" }],
];

/** What is wrong with the two layouts, or "". */
function refused({ a, b }) {
  let picked, placed;
  try {
    [placed, picked] = [parse(a), parse(b)];
  } catch (error) {
    return error.message;
  }
  const [all, last] = [size(placed.shape), cosize(picked) - 1];
  if (Math.max(all, size(picked.shape)) > MOST || cosize(placed) > WIDEST)
    return `this figure shows up to ${MOST} coordinates and ${WIDEST} elements of memory`;
  if (last >= all)
    return `B picks number ${last} of A, but A has only ${all} coordinates, 0 to ${all - 1}`;
  return "";
}

/** "1·16 + 2·1": the sum that leads from a coordinate's number to its index. */
function sum(at, layout) {
  const parts = [idx2crd(at, layout.shape)].flat(Infinity);
  return modes(layout)
    .map(([, step], k) => `${parts[k]}·${step}`)
    .join(" + ");
}

/** Cells in one line or in several, as many in each as fit, `unit` by `unit`. */
function strip(count, left, width, y, unit) {
  const fit = Math.floor(width / ROOM);
  const wraps = count > fit;
  const per = wraps ? Math.max(Math.floor(fit / unit) * unit, Math.min(unit, fit)) : count;
  const side = Math.min(width / per, 40);
  const box = (k) => [left + (k % per) * side, y + Math.floor(k / per) * (TALL + 3)];
  return { count, side, box, wraps, end: y + Math.ceil(count / per) * (TALL + 3) - 3 };
}

/** Draw a strip: a cell's number, whether it is met at all, and which one is chosen. */
function cells({ count, side, box }, met, chosen, pick) {
  const out = [];
  for (let k = 0; k < count; k++) {
    const [x, y] = box(k);
    const kind = k === chosen ? "used" : met.has(k) ? "band" : "empty";
    out.push(rect(x + 0.5, y, side - 1, TALL, kind, { "data-pick": pick(k) }));
    const words = k === chosen ? "cell on" : met.has(k) ? "cell" : "letter";
    out.push(text(x + side / 2, y + 16, k, words, { "pointer-events": "none" }));
  }
  return out;
}

function draw(state, width) {
  const message = refused(state);
  if (message)
    return {
      picture: picture(1, 1),
      numbers: [],
      said: `${message[0].toUpperCase()}${message.slice(1)}.`,
    };
  const [a, b] = [parse(state.a), parse(state.b)];
  const all = Array.from({ length: size(b.shape) }, (_, c) => c);
  const picked = all.map((c) => at(b, c));
  const placed = picked.map((k) => at(a, k));
  const { layout, why } = tried(a, b);
  const c = state.at;

  const wide = width >= 560;
  const left = wide ? 100 : 48;
  const room = width - left - 2;
  const [start, run] = [b, a].map((one) => modes(one)[0][0]);
  const gap = 34;
  const top = strip(all.length, left, room, 2, start);
  const middle = strip(size(a.shape), left, room, top.end + gap, run);
  const foot = strip(cosize(a), left, room, middle.end + gap, 8);
  const out = [];
  const centre = ({ box, side }, k, below) => {
    const [x, y] = box(k);
    return `${x + side / 2} ${below ? y + TALL : y}`;
  };
  const path = (from, i, to, j, kind) =>
    s("path", { d: `M${centre(from, i, true)}L${centre(to, j, false)}`, class: kind });
  for (const each of all) {
    if (each === c) continue;
    if (!top.wraps && !middle.wraps) out.push(path(top, each, middle, picked[each], "trail"));
    if (!middle.wraps && !foot.wraps)
      out.push(path(middle, picked[each], foot, placed[each], "trail"));
  }
  const rows = [
    [top, all, c, "c", "coordinate of B"],
    [middle, picked, picked[c], "B(c)", "number in A"],
    [foot, placed, placed[c], "A(B(c))", "index"],
  ];
  for (const [row, met, chosen, symbol, meaning] of rows) {
    const [, y] = row.box(0);
    const pick = (k) => (met.includes(k) ? String(met.indexOf(k)) : null);
    out.push(...cells(row, new Set(met), chosen, pick));
    out.push(text(left - 8, y + (wide ? 10 : 16), symbol, "strong end"));
    if (wide) out.push(text(left - 8, y + 24, meaning, "soft end"));
  }
  // Where a first mode begins anew.
  for (const [row, step] of [[top, start], [middle, run]])
    for (let k = step; k < row.count; k += step) {
      const [x, y] = row.box(k);
      if (x > left) out.push(s("path", { d: `M${x} ${y - 3}v${TALL + 6}`, class: "fence" }));
    }
  out.push(path(top, c, middle, picked[c], "link"));
  out.push(path(middle, picked[c], foot, placed[c], "link"));
  return {
    code: h("code", {}, `${state.a} ∘ ${state.b} = ${layout ? name(layout) : "no layout"}`),
    picture: picture(width, foot.end + 2, out),
    numbers: [
      [number(c), "c"],
      [number(picked[c]), "B(c)"],
      [number(placed[c]), "A(B(c))"],
      layout ? [number(at(layout, c)), "R(c), in one step"] : ["–", "no R", "bad"],
    ],
    said: words(state, { a, b, layout, why, c, picked, placed }),
  };
}

const name = ({ shape, stride }) => `${written(shape)}:${written(stride)}`;

function words(state, { a, b, layout, why, c, picked, placed }) {
  const k = picked[c];
  const through =
    `B maps ${written(idx2crd(c, b.shape))} to number ${sum(c, b)} = ${k}, which is ` +
    `coordinate ${written(idx2crd(k, a.shape))} of A. A maps this number to ${sum(k, a)} = ${placed[c]}.`;
  if (layout)
    return `${through} The composition ${name(layout)} gives the same index directly: ${sum(c, layout)} = ${placed[c]}.`;
  const some = placed.slice(0, 6).join(", ");
  const more = placed.length > 6 ? " …" : "";
  return `${through} No layout has the indices ${some}${more}: ${why}.`;
}

const within = (value, most) => Math.max(0, Math.min(value, most));
const last = (state) => (refused(state) ? 0 : size(parse(state.b).shape) - 1);
const MOVES = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };

export default figure({
  defaults: { a: "(6,2):(8,2)", b: "6:2", at: 4 },
  fit: (state) => ({ ...state, at: within(state.at, last(state)) }),
  controls: [
    {
      kind: "buttons",
      key: "presets",
      label: "Presets",
      items: PRESETS.map(([words, change]) => [words, () => change]),
    },
    { kind: "text", key: "a", label: "A", columns: 20 },
    { kind: "text", key: "b", label: "B", columns: 20 },
  ],
  draw,
  hover: true,
  pick: (state, c) => ({ at: Number(c) }),
  hand: (state) => ({
    label: "the coordinate c; the arrow keys move it",
    words: `c is ${state.at}`,
    now: state.at,
    max: last(state),
  }),
  key(state, key) {
    if (key === "Home") return { at: 0 };
    if (key === "End") return { at: last(state) };
    return MOVES[key] && { at: state.at + MOVES[key] };
  },
});
