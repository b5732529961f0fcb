// Warps on a scheduler: while one waits for memory, others fill the time.

import { counted, figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { busyShare, enough, schedule } from "./latency_rules.js";

const MOST = 16;

function draw(state, width) {
  const wide = width >= 560;
  const left = wide ? 92 : 34;
  const cycles = wide ? 90 : 45;
  const step = (width - left - 1) / cycles;
  const { issued } = schedule(state, cycles);
  const tall = 21;
  const part = 14 / state.ways;
  const out = [
    width >= 290 && text(left, 11, `${cycles} cycles →`, "soft"),
    rect(width - 188, 2, 9, 10, "used"),
    text(width - 175, 11, "instruction", "soft"),
    rect(width - 106, 2, 9, 10, "load"),
    text(width - 93, 11, "load", "soft"),
    s("path", { d: `M${width - 58} 7h16`, class: "waits" }),
    text(width - 1, 11, "waits", "soft end"),
  ];
  const slots = new Array(cycles).fill(false);
  issued.forEach((events, warp) => {
    const y = 20 + warp * tall;
    out.push(text(left - 8, y + 11, wide ? `warp ${warp}` : warp, "soft end"));
    out.push(s("path", { d: `M${left} ${y + 7}H${width - 1}`, class: "waits" }));
    let nth = 0;
    for (const { cycle, load } of events) {
      const x = left + cycle * step;
      slots[cycle] = true;
      if (load) {
        out.push(rect(x, y - 1, step - 0.6, 16, "load"));
        nth = 0;
        continue;
      }
      // In a divergent branch each instruction is for a part of the lanes only.
      const way = Math.floor(nth / state.work);
      out.push(rect(x, y, step - 0.6, 14, "empty"));
      out.push(rect(x, y + way * part, step - 0.6, part, "used"));
      nth += 1;
    }
  });
  const y = 20 + state.warps * tall + 8;
  out.push(text(left - 8, y + 15, wide ? "issue slots" : "all", "strong end"));
  slots.forEach((busy, cycle) => {
    const x = left + cycle * step;
    out.push(rect(x, y, step - 0.6, 22, busy ? "used" : "moved thin"));
    if (!busy) out.push(hatch(x, y, step - 0.6, 22, "hatch waste", 5));
  });
  const share = busyShare(state);
  const wanted = enough(state);
  const lanes = (state.work + 1) / (state.work * state.ways + 1);
  const more = wanted - state.warps;
  const said =
    share < 1
      ? `The scheduler is idle whenever all warps are waiting; ${counted(more, "more warp")} would fill the gaps.`
      : state.ways > 1
        ? "The scheduler is never idle, but it issues the same instructions once for each way through the branch, with the other lanes switched off."
        : "There is always a warp that is ready, so the latency is hidden. More warps would change nothing.";
  return {
    picture: picture(width, y + 24, out),
    numbers: [
      [`${number(100 * share)} %`, "issue slots used", share < 1 && "bad"],
      [number(wanted), wanted === 1 ? "warp is enough" : "warps are enough"],
      ...(state.ways > 1 ? [[`${number(100 * lanes)} %`, "lanes at work", "bad"]] : []),
    ],
    said,
  };
}

export default figure({
  defaults: { warps: 3, work: 3, latency: 24, ways: 1 },
  controls: [
    {
      kind: "choice",
      key: "ways",
      label: "Ways through the branch",
      options: [[1, "1"], [2, "2"], [4, "4"]],
    },
    { kind: "range", key: "warps", label: "warps", min: 1, max: MOST },
    { kind: "range", key: "work", label: "instructions per load", min: 1, max: 8 },
    {
      kind: "range",
      key: "latency",
      label: "latency",
      min: 4,
      max: 40,
      text: (cycles) => `${cycles} cycles`,
    },
  ],
  draw,
});
