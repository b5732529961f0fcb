// A scan of 16 numbers, step by step: which of them each cell holds the sum of.

import { counted, figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { LAST, LEVELS, N, after, kindOf } from "./scan_rules.js";

const CODE = {
  steps: (gap) => `if t >= ${gap}: tile[t] += tile[t - ${gap}]`,
  up: (gap) => `tile[end] += tile[end - ${gap}]    # end = ${2 * gap} * (t + 1) - 1`,
  zero: () => `if t == 0: tile[${N - 1}] = 0`,
  down: (gap) => `tile[end - ${gap}], tile[end] = tile[end], tile[end - ${gap}] + tile[end]`,
};

/** The step that is shown: one method has fewer than the other. */
const at = ({ method, step }) => Math.min(step, LAST[method]);

function draw(state, width) {
  const [method, step] = [state.method, at(state)];
  const left = width >= 480 ? 64 : 24;
  const cell = Math.min(26, (width - left - 2) / N);
  const { cells, fresh, added, all } = after(method, step);
  const top = 20;
  const out = [text(left, 12, "which elements of x", "soft")];
  out.push(rect(left, top, N * cell, N * cell, "empty"));
  cells.forEach(([from, to], i) => {
    const y = top + i * cell;
    const label = width >= 480 ? `tile[${i}]` : i;
    out.push(text(left - 6, y + cell / 2 + 4, label, "soft end"));
    if (to === from) return;
    const wide = (to - from) * cell;
    out.push(rect(left + from * cell, y, wide, cell, fresh.has(i) ? "used" : "band"));
    if (fresh.has(i)) out.push(hatch(left + from * cell, y, wide, cell, "hatch", 5));
  });
  let d = "";
  for (let i = 0; i <= N; i++)
    d += `M${left + i * cell} ${top}v${N * cell}M${left} ${top + i * cell}h${N * cell}`;
  out.push(s("path", { d, class: "grid" }));
  const [kind, gap] = step ? kindOf(method, step) : ["", 0];
  return {
    code: step ? CODE[kind](gap) : "tile[t] = x[i]",
    picture: picture(width, top + N * cell + 2, out),
    numbers: [
      [`${step} of ${LAST[method]}`, "steps"],
      [number(added), added === 1 ? "addition in this one" : "additions in this one"],
      [number(all), all === 1 ? "addition so far" : "additions so far"],
    ],
    said: words(method, step, kind, gap, added),
  };
}

function words(method, step, kind, gap, added) {
  if (!step) return "Each cell holds one element. A loop would make 15 additions.";
  if (method === "steps")
    return step === LEVELS
      ? "Each cell holds the sum of everything up to its own place: the inclusive scan."
      : `Each cell holds the sum of up to ${2 * gap} elements, twice as many as before.`;
  if (kind === "up")
    return `${counted(added, "cell now holds the sum", "cells now hold sums")} of ${2 * gap} elements; the others have not changed.`;
  if (kind === "zero") return "Nothing comes before the whole array, so 0 replaces the sum of everything.";
  if (step === LAST.tree)
    return "Each cell holds the sum of what comes before its place: the exclusive scan.";
  return `${counted(2 * added, "cell holds", "cells hold")} what comes before their ${gap === 1 ? "element" : `${gap} elements`}.`;
}

export default figure({
  defaults: { method: "steps", step: 1 },
  controls: [
    {
      kind: "choice",
      key: "method",
      label: "Method",
      options: [
        ["steps", "Hillis and Steele"],
        ["tree", "Blelloch"],
      ],
    },
    {
      kind: "buttons",
      label: "Steps",
      items: [
        ["Step", (now) => ({ step: at(now) + 1 }), (now) => at(now) < LAST[now.method]],
        ["Back", (now) => ({ step: at(now) - 1 }), (now) => at(now) > 0],
        ["To the end", (now) => ({ step: LAST[now.method] }), (now) => now.step < LAST[now.method]],
        ["Start again", () => ({ step: 0 }), (now) => now.step > 0],
      ],
    },
  ],
  draw,
});
