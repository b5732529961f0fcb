// Copies and kernels over time: what runs side by side, and what has to wait.

import { figure, number, picture, rect, s, text } from "./figure.js";
import { ENGINES, schedule } from "./streams_rules.js";

const per = (value) => number(value, 1);

function draw(state, width) {
  const { events, total } = schedule(state);
  const wide = width >= 560;
  const left = wide ? 76 : 0;
  const one = 2 * state.copy + state.work;
  const scale = (width - left - 2) / one;
  const tall = wide ? 44 : 58;
  const top = wide ? 20 : 36;
  const out = [];
  ENGINES.forEach((name, engine) => {
    const y = top + engine * tall;
    if (wide) out.push(text(left - 10, y + 21, name, "soft end"));
    else out.push(text(0, y - 5, name, "soft"));
    out.push(rect(left, y, one * scale, 34, "empty"));
  });
  const key = state.streams * 26;
  out.push(text(width - key - 8, 11, state.streams > 1 ? "streams" : "stream", "soft end"));
  for (let stream = 0; stream < state.streams; stream++) {
    const x = width - key + stream * 26;
    out.push(rect(x, 2, 10, 10, `stream${stream}`), text(x + 13, 11, stream, "soft"));
  }
  for (const { engine, piece, stream, start, end } of events) {
    const [x, y] = [left + start * scale, top + engine * tall];
    const length = Math.max((end - start) * scale - 1.5, 1);
    out.push(rect(x, y, length, 34, `stream${stream}`, { rx: 3 }));
    if (length > 12) out.push(text(x + length / 2, y + 21, piece, "cell on"));
  }
  const end = left + total * scale;
  const foot = top + 3 * tall;
  out.push(s("path", { d: `M${end} ${top - 2}V${foot}`, class: "fence" }));
  out.push(
    text(Math.min(end, width - 4), foot + 14, `${per(total)} ms`, end > width / 2 ? "end strong" : "strong"),
  );
  const least = Math.max(state.copy, state.work);
  const what = state.work > state.copy ? "the SMs" : "the bus";
  const said = !state.pinned
    ? "The host copies pageable memory through its own buffer, and waits. More streams do not help."
    : state.streams === 1
      ? "In one stream, everything runs in order: no kernel runs while data is copied."
      : state.pieces === 1
        ? "There is one piece, so there is nothing to overlap it with."
        : `Pieces overlap. At best, ${what} would be busy throughout, and the whole job would take ${per(least)} ms.`;
  return {
    picture: picture(width, foot + 20, out),
    numbers: [
      [`${per(total)} ms`, "from start to end"],
      [`${per(one)} ms`, "one after the other"],
      [number(one / total, 2), "times as fast"],
    ],
    said,
  };
}

export default figure({
  defaults: { streams: 3, pieces: 6, copy: 6, work: 6, pinned: true },
  controls: [
    {
      kind: "choice",
      key: "streams",
      label: "Streams",
      options: [1, 2, 3, 4].map((n) => [n, String(n)]),
    },
    { kind: "toggle", key: "pinned", label: "pinned memory" },
    { kind: "range", key: "pieces", label: "pieces", min: 1, max: 12 },
    {
      kind: "range",
      key: "copy",
      label: "a copy of all",
      min: 1,
      max: 12,
      text: (ms) => `${ms} ms`,
    },
    {
      kind: "range",
      key: "work",
      label: "kernels on all",
      min: 1,
      max: 12,
      text: (ms) => `${ms} ms`,
    },
  ],
  draw,
});
