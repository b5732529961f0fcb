// A training step's kernels on a time line, beside what PyTorch's step is made of.

import { figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { kinds, micros, spans, step } from "./training_step_rules.js";

const OURS = "fused, one graph";
const THEIRS = "torch, best";
const BAR = 26;
const ROW = 23;
const BESIDE = 58; // pixels for a time after a bar
const WHAT = {
  moments: "the statistics of the first layer",
  forward: "both convolutions, with ReLU and pooling",
  fc1: "the product of the first linear layer, in slices",
  head: "everything from there to the loss, and back to the hidden layer",
  fc1_backward: "the gradients of the first linear layer, and its new weights",
  backward: "unpooling, and the gradients of both convolutions",
  update: "the sums over all blocks, and the other new weights",
};

/** What was measured of the chosen batch: spans, kinds, and the time of both steps. */
function chosen({ runs, batch, norms }) {
  const run = runs.find((one) => one.batch === batch && Boolean(one.norms) === norms);
  if (!run) return null;
  return {
    kernels: spans(run.kernels),
    kinds: kinds(run.kinds ?? []),
    ours: step(run.steps, OURS),
    theirs: step(run.steps, THEIRS),
  };
}

const parts = (now) => (now ? [...now.kernels, ...now.kinds] : []);

function draw(state, width) {
  const now = chosen(state);
  if (!now) return { picture: picture(1, 1), numbers: [], said: "This was not measured." };
  const wide = width >= 560;
  const left = wide ? 168 : 108;
  const room = width - left - 2;
  const scale = (room - BESIDE) / Math.max(now.ours, now.theirs);
  const out = [];
  const name = (y, words, kind = "end") => out.push(text(left - 8, y + 17, words, kind));
  const mark = (k) => (k === state.at ? "used" : "thread");
  const label = (x, y, seconds, kind = "") =>
    out.push(text(x, y, micros(seconds), kind, { "pointer-events": "none" }));

  // Both steps to one scale.
  let y = 2;
  const whole = (seconds, words) => {
    name(y + 1, words, "strong end");
    out.push(rect(left, y, seconds * scale, BAR, "box"));
    out.push(hatch(left, y, seconds * scale, BAR, "hatch", 7));
  };
  whole(now.ours, "fused step");
  now.kernels.forEach(({ start, end }, k) =>
    out.push(
      rect(left + start * scale, y, (end - start) * scale, BAR, mark(k), { "data-pick": k }),
    ),
  );
  label(left + now.ours * scale + 6, y + 18, now.ours);
  const zoom = y + BAR;
  y += BAR + 10;
  whole(now.theirs, THEIRS);
  let at = 0;
  now.kinds.forEach(({ seconds }, k) => {
    const which = now.kernels.length + k;
    out.push(
      rect(left + at * scale, y, seconds * scale, BAR, kindMark(state, which), {
        "data-pick": which,
      }),
    );
    at += seconds;
  });
  if (!now.kinds.length) out.push(rect(left, y, now.theirs * scale, BAR, "element"));
  label(left + now.theirs * scale + 6, y + 18, now.theirs);
  y += BAR;

  // The fused step alone, over the whole width.
  const head = y + 34;
  const near = room / now.ours;
  out.push(text(0, head - 10, "The fused step, enlarged", "soft over"));
  const tall = now.kernels.length * ROW;
  out.push(rect(left, head, room, tall, "empty"));
  const edges = [
    [left, left],
    [left + now.ours * scale, left + room],
  ];
  for (const [from, to] of edges)
    out.unshift(s("path", { d: `M${from} ${zoom}L${to} ${head}`, class: "trail" }));
  now.kernels.forEach((one, k) => {
    const row = head + k * ROW;
    const [x, length] = [left + one.start * near, (one.end - one.start) * near];
    name(row - 1, one.name, k === state.at ? "strong end" : "end");
    out.push(rect(0, row, width, ROW, "gone", { "fill-opacity": 0, "data-pick": k }));
    out.push(rect(x, row + 2, Math.max(length - 1, 1), ROW - 4, mark(k), { "data-pick": k }));
    const took = one.end - one.start;
    if (length > BESIDE - 6)
      label(x + length / 2, row + 16, took, k === state.at ? "cell on" : "cell");
    else if (x + length + BESIDE > width) label(x - 6, row + 16, took, "end");
    else label(x + length + 5, row + 16, took);
  });
  y = head + tall;

  // PyTorch's kernels, by kind.
  const foot = y + 34;
  const title = now.kinds.length
    ? `The kernels of ${THEIRS}, by kind, in no order`
    : `There is no profile of ${THEIRS} here.`;
  out.push(text(0, foot - 10, title, "soft over"));
  const most = Math.max(...now.kinds.map(({ seconds }) => seconds), 0);
  now.kinds.forEach(({ name: kind, seconds }, k) => {
    const which = now.kernels.length + k;
    const row = foot + k * ROW;
    const length = (seconds / most) * (room - BESIDE);
    out.push(rect(0, row, width, ROW, "gone", { "fill-opacity": 0, "data-pick": which }));
    const short = wide ? kind : kind.replace(" and its gradient", "").replace(" kernels", "");
    name(row - 1, short, which === state.at ? "strong end" : "end");
    out.push(rect(left, row + 2, length, ROW - 4, kindMark(state, which), { "data-pick": which }));
    label(left + length + 5, row + 16, seconds);
  });
  const end = now.kinds.length ? foot + now.kinds.length * ROW : foot - 6;
  return {
    picture: picture(width, end + 2, out),
    numbers: [
      [micros(now.ours), "a fused step"],
      [micros(now.theirs), `a step of ${THEIRS}`],
      [number(now.theirs / now.ours, 1), "times as fast"],
    ],
    said: words(state, now),
  };
}

const kindMark = (state, which) => (which === state.at ? "load" : "weave");

function words({ at }, now) {
  const one = parts(now)[at];
  if (at >= now.kernels.length) {
    const all = now.kinds.reduce((sum, { seconds }) => sum + seconds, 0);
    return (
      `${one.name[0].toUpperCase()}${one.name.slice(1)}: ${micros(one.seconds)} of the ` +
      `${micros(all)} per step that a profile found in kernels, ` +
      `${number((100 * one.seconds) / all)} % of them.`
    );
  }
  const length = one.end - one.start;
  const when = at === 0 ? "comes first" : `starts after ${micros(one.start)}`;
  return (
    `${one.name} ${when} and takes ${micros(length)}, ` +
    `${number((100 * length) / now.ours)} % of the step. It computes ${WHAT[one.name]}.`
  );
}

const within = (value, most) => Math.max(0, Math.min(value, most));
const last = (state) => Math.max(parts(chosen(state)).length - 1, 0);
const MOVES = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

export default figure({
  defaults: { runs: [], batch: 1024, norms: false, at: 0 },
  fit: (state) => ({ ...state, at: within(state.at, last(state)) }),
  controls: [
    {
      kind: "choice",
      key: "batch",
      label: "Images in a batch",
      options: [
        [64, "64"],
        [1024, "1024"],
      ],
    },
    { kind: "toggle", key: "norms", label: "batch normalisation" },
  ],
  draw,
  hover: true,
  pick: (state, k) => ({ at: Number(k) }),
  hand(state) {
    const one = parts(chosen(state))[state.at];
    return {
      label: "the chosen kernel; the arrow keys move to the next",
      words: one ? one.name : "none",
      now: state.at,
      max: last(state),
    };
  },
  key(state, key) {
    if (key === "Home") return { at: 0 };
    if (key === "End") return { at: last(state) };
    return MOVES[key] && { at: state.at + MOVES[key] };
  },
});
