// Two warps step through a kernel with a barrier, or without.

import { figure, hatch, picture, rect, s, text } from "./figure.js";

const LANES = 32;
const CODE = [
  ["tile[t] = x[i]", "write"],
  ["cuda.syncthreads()", "barrier"],
  ["out[i] = tile[63 - t]", "read"],
];

/**
 * What happens when the warps take their steps in `order`, a string of 0 and 1.
 *
 * Returns { events, at, epoch, waits, written, results, hazards }. An event is
 * { warp, what, epoch }; `at` is the line each warp is at; `results` says of each warp
 * "good" or "garbage". A hazard is the write and the read of one half of the tile with
 * no barrier between them, whichever came first.
 */
export function play(order, barrier) {
  const lines = barrier ? [0, 1, 2] : [0, 2];
  const next = [0, 0];
  const epoch = [0, 0];
  const waits = [false, false];
  const written = [false, false];
  const results = [null, null];
  const events = [];
  for (const step of order) {
    const warp = Number(step);
    if (next[warp] >= lines.length || waits[warp]) continue;
    const what = CODE[lines[next[warp]]][1];
    events.push({ warp, what, epoch: epoch[warp] });
    next[warp] += 1;
    if (what === "write") written[warp] = true;
    if (what === "read") results[warp] = written[1 - warp] ? "good" : "garbage";
    if (what === "barrier") {
      waits[warp] = true;
      if (waits[1 - warp]) {
        waits.fill(false);
        epoch[0] += 1;
        epoch[1] += 1;
      }
    }
  }
  const hazards = [];
  events.forEach((read, r) => {
    if (read.what !== "read") return;
    const w = events.findIndex((e) => e.what === "write" && e.warp !== read.warp);
    if (w < 0 || events[w].epoch >= read.epoch) hazards.push([w, r]);
  });
  const at = next.map((i) => (i < lines.length ? lines[i] : 3));
  return { events, at, epoch, waits, written, results, hazards };
}

/** A warp's mark: a disc for warp 0, a square for warp 1, with its number. */
function mark(x, y, warp) {
  return [
    warp === 0
      ? s("circle", { cx: x, cy: y, r: 9, class: "warp0" })
      : rect(x - 8.5, y - 8.5, 17, 17, "warp1"),
    text(x, y + 4, warp, "cell on"),
  ];
}

function listing(x, y, width, state, now) {
  const out = [];
  CODE.forEach(([words, what], line) => {
    const gone = what === "barrier" && !state.barrier;
    const top = y + line * 32;
    const here = [0, 1].filter((warp) => now.at[warp] === line || (now.waits[warp] && line === 1));
    out.push(rect(x, top, width, 26, here.length ? "here" : "element"));
    out.push(text(x + 52, top + 17.5, words, `mono ${gone ? "soft gone-text" : ""}`));
    here.forEach((warp) => out.push(mark(x + 14 + warp * 21, top + 13, warp)));
    if (now.waits.some(Boolean) && what === "barrier")
      out.push(text(x + width - 8, top + 17.5, "waits", "soft end"));
  });
  const done = [0, 1].filter((warp) => now.at[warp] === 3);
  done.forEach((warp) => out.push(mark(x + 14 + warp * 21, y + 3 * 32 + 12, warp)));
  out.push(text(x + 52, y + 3 * 32 + 16, done.length ? "done" : "", "soft"));
  return out;
}

function cells(x, y, width, label, halves) {
  const side = width / LANES;
  const out = [text(x, y + 10, label, "soft")];
  halves.forEach(([kind, words, warp], half) => {
    const top = y + 16 + half * 27;
    out.push(rect(x, top, width, 22, kind));
    if (kind === "unwritten") out.push(hatch(x, top, width, 22, "hatch", 7));
    if (kind === "wild") out.push(hatch(x, top, width, 22, "hatch waste", 7));
    let d = "";
    for (let i = 1; i < LANES; i++) d += `M${x + i * side} ${top}v4m0 14v4`;
    out.push(s("path", { d, class: "grid" }));
    const tag = `${half * LANES}–${half * LANES + 31}: ${words}`;
    out.push(text(x + width / 2, top + 15, tag, `tag mid ${kind}`));
  });
  return out;
}

function timeline(x, y, width, now) {
  const { events, hazards } = now;
  const label = 54;
  const step = (width - label) / 6;
  const row = (warp) => y + 22 + warp * 46;
  const out = [];
  const edge = events.findIndex((e) => e.epoch > 0);
  const turn = now.epoch[0] > 0 ? (edge < 0 ? events.length : edge) : null;
  const from = x + label;
  out.push(text(from, y + 12, "epoch 0", "soft"));
  out.push(rect(from, y + 18, turn === null ? width - label : turn * step, 86, "epoch"));
  if (turn !== null) {
    const at = from + turn * step;
    out.push(text(at + 3, y + 12, "epoch 1", "soft"));
    out.push(rect(at, y + 18, width - label - turn * step, 86, "epoch next"));
    out.push(s("path", { d: `M${at} ${y + 2}v102`, class: "fence" }));
  }
  [0, 1].forEach((warp) => {
    out.push(mark(x + 10, row(warp) + 17, warp));
    out.push(text(x + 24, row(warp) + 21, "warp", "soft"));
  });
  events.forEach(({ warp, what }, i) => {
    const bad = hazards.some((pair) => pair.includes(i));
    const box = [from + i * step + 3, row(warp), step - 6, 34];
    out.push(rect(...box, `event ${bad ? "wild" : `warp${warp}`}`, { rx: 4 }));
    const words = { write: "write", barrier: "arrive", read: "read" }[what];
    out.push(text(box[0] + box[2] / 2, row(warp) + 21, words, `cell ${bad ? "warn" : "on"}`));
  });
  hazards
    .filter(([w]) => w >= 0)
    .forEach(([w, r]) => {
      const [a, b] = w < r ? [w, r] : [r, w];
      const mid = (i) => from + (i + 0.5) * step;
      const [up, down] = [row(0) + 34, row(1)];
      const [ya, yb] = events[a].warp === 0 ? [up, down] : [down, up];
      out.push(s("path", { d: `M${mid(a)} ${ya}L${mid(b)} ${yb}`, class: "race" }));
    });
  return out;
}

function words(state, now) {
  const { events, hazards, waits, results } = now;
  const garbage = results.findIndex((r) => r === "garbage");
  if (garbage >= 0)
    return (
      `Warp ${garbage} read warp ${1 - garbage}'s half of the tile before warp ${1 - garbage} had ` +
      "written it, so out now holds garbage."
    );
  if (hazards.length)
    return (
      "The result is right, but only by luck: nothing made the reader wait for the writer. " +
      "A read and a write by different warps in the same epoch are a race, in either order."
    );
  const waiting = waits.findIndex(Boolean);
  if (waiting >= 0)
    return `Warp ${waiting} has arrived at the barrier and waits there for warp ${1 - waiting}.`;
  if (now.at.every((line) => line === 3))
    return "All writes are in epoch 0 and all reads in epoch 1, so out is right in whatever order you step.";
  if (now.epoch[0] > 0)
    return "Both warps have arrived, so the barrier opens and epoch 1 begins. The whole tile is written.";
  if (!events.length)
    return "A block of 64 threads is two warps. On a GPU you cannot decide which of them goes first. Here you can.";
  return "Each warp writes its own half of the tile and reads the other's.";
}

function draw(state, width) {
  const now = play(state.order, state.barrier);
  const wide = width >= 560;
  const half = wide ? 270 : width - 2;
  const right = wide ? half + 34 : 1;
  const room = wide ? width - right - 1 : width - 2;
  const y = wide ? 0 : 142;
  const tile = [0, 1].map((warp) =>
    now.written[warp] ? [`fill${warp}`, `written by warp ${warp}`] : ["unwritten", "not written"],
  );
  const out = [0, 1].map((warp) => {
    const result = now.results[warp];
    if (!result) return ["unwritten", "not written"];
    return result === "good" ? [`fill${warp}`, "right"] : ["wild", "✗ garbage"];
  });
  const below = wide ? 156 : y + 158;
  return {
    picture: picture(width, below + 106, [
      listing(1, 4, half, state, now),
      cells(right, y, room, "tile, in shared memory", tile),
      cells(right, y + 76, room, "out", out),
      timeline(1, below, width - 2, now),
    ]),
    numbers: [
      [now.epoch[0], "epoch"],
      [now.hazards.length, now.hazards.length === 1 ? "hazard" : "hazards", now.hazards.length && "bad"],
    ],
    said: words(state, now),
  };
}

const ready = (warp) => (state) => {
  const now = play(state.order, state.barrier);
  return now.at[warp] < 3 && !now.waits[warp];
};

export default figure({
  defaults: { barrier: true, order: "" },
  // Steps that lead nowhere are forgotten, so that going back takes one back.
  fit(state) {
    let order = "";
    for (const step of state.order)
      if (ready(Number(step))({ ...state, order })) order += step;
    return { ...state, order };
  },
  controls: [
    { kind: "toggle", key: "barrier", label: "cuda.syncthreads()" },
    {
      kind: "buttons",
      label: "Steps",
      items: [
        ["Step warp 0", (s) => ({ order: `${s.order}0` }), ready(0)],
        ["Step warp 1", (s) => ({ order: `${s.order}1` }), ready(1)],
        ["Back", (s) => ({ order: s.order.slice(0, -1) }), (s) => s.order !== ""],
        ["Start again", () => ({ order: "" }), (s) => s.order !== ""],
      ],
    },
  ],
  draw,
});
