// A step's kernels, queued one by one or as a graph: what the GPU waits for.

import { figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { KERNELS, STEPS, timeline } from "./queueing_rules.js";

const TALL = 34;

function draw(state, width) {
  const now = timeline(state);
  const plain = timeline({ ...state, how: "launches" });
  const slowest = timeline({ ...state, how: "waits" }).total;
  const wide = width >= 480;
  const left = wide ? 44 : 0;
  const scale = (width - left - 4) / slowest;
  const out = [];
  const rows = { host: wide ? 4 : 20, GPU: wide ? 52 : 76 };
  for (const [name, y] of Object.entries(rows)) {
    out.push(wide ? text(left - 8, y + 21, name, "soft end") : text(0, y - 6, name, "soft"));
    out.push(rect(left, y, slowest * scale, TALL, "empty"));
  }
  const span = ({ start, end }, y, kind) =>
    rect(left + start * scale, y, Math.max((end - start) * scale - 1, 0.8), TALL, kind, { rx: 2 });
  for (const one of now.host) {
    out.push(span(one, rows.host, one.what === "wait" ? "idle" : `stream${one.step % 2 ? 2 : 0}`));
    const length = (one.end - one.start) * scale;
    if (one.what === "wait" && length > 34)
      out.push(text(left + (one.start + one.end) * 0.5 * scale, rows.host + 21, "waits", "cell"));
  }
  let from = now.gpu[0].start;
  for (const one of now.gpu) {
    const [x, length] = [left + from * scale, (one.start - from) * scale];
    if (length > 0.5) out.push(hatch(x, rows.GPU, length, TALL, "hatch waste", 5));
    out.push(span(one, rows.GPU, `stream${one.step % 2 ? 3 : 1}`));
    from = one.end;
  }
  const end = left + now.total * scale;
  const foot = rows.GPU + TALL;
  out.push(s("path", { d: `M${end} ${rows.host - 2}V${foot + 4}`, class: "fence" }));
  const ends = end > width / 2 ? "end strong" : "strong";
  out.push(text(Math.min(end, width - 4), foot + 18, `${number(now.total)} µs`, ends));
  const busy = (STEPS * KERNELS * state.run) / now.total;
  return {
    picture: picture(width, foot + 24, out),
    numbers: [
      [`${number(now.total)} µs`, `for ${STEPS} steps of ${KERNELS} kernels`],
      [`${number(100 * busy)} %`, "of the time, the GPU works", busy < 0.5 && "bad"],
      [number(plain.total / now.total, 2), "times as fast as kernel by kernel"],
    ],
    said: words(state),
  };
}

function words({ how, queue, run }) {
  const behind = queue > run;
  if (how === "graph")
    return behind
      ? "One call queues all kernels of a step, so within a step the GPU never waits for the host."
      : "One call queues all kernels of a step. But the host was ahead already, so the graph gains nothing.";
  if (how === "waits")
    return behind
      ? "The host is behind, so a wait at the end of a step costs little: the GPU has only one kernel left to run."
      : "At every wait the GPU finishes its queue, and then it has nothing to do until the host has queued another kernel.";
  return behind
    ? "The host is behind. The GPU waits for every launch, and faster kernels would only widen the gaps."
    : "The host is ahead. There is always a kernel in the queue, and the step takes as long as its kernels.";
}

export default figure({
  defaults: { how: "launches", queue: 10, run: 4 },
  controls: [
    {
      kind: "choice",
      key: "how",
      label: "A step is queued",
      options: [
        ["launches", "kernel by kernel"],
        ["waits", "with a wait"],
        ["graph", "as a graph"],
      ],
    },
    {
      kind: "range",
      key: "queue",
      label: "the host queues a call in",
      min: 2,
      max: 20,
      text: (us) => `${us} µs`,
    },
    {
      kind: "range",
      key: "run",
      label: "a kernel takes",
      min: 2,
      max: 40,
      text: (us) => `${us} µs`,
    },
  ],
  draw,
});
