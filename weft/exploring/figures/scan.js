// A scan of 16 numbers, step by step: which of them each cell holds the sum of.

import { counted, figure, hatch, number, picture, rect, s, text } from "./figure.js";

const N = 16;
const LEVELS = 4;
const LAST = { steps: LEVELS, tree: 2 * LEVELS + 1 };
const CODE = {
  steps: (gap) => `if t >= ${gap}: tile[t] += tile[t - ${gap}]`,
  up: (gap) => `tile[end] += tile[end - ${gap}]    # end = ${2 * gap} * (t + 1) - 1`,
  zero: () => `if t == 0: tile[${N - 1}] = 0`,
  down: (gap) => `tile[end - ${gap}], tile[end] = tile[end], tile[end - ${gap}] + tile[end]`,
};

/** What step `k` of a method does, and with which gap. */
function kindOf(method, k) {
  if (method === "steps") return ["steps", 2 ** (k - 1)];
  if (k <= LEVELS) return ["up", 2 ** (k - 1)];
  return k === LEVELS + 1 ? ["zero", 0] : ["down", 2 ** (2 * LEVELS + 1 - k)];
}

/** For each cell the range [from, to) of what it holds; `fresh` have just changed. */
function after(method, step) {
  let cells = Array.from({ length: N }, (_, i) => [i, i + 1]);
  let [fresh, added, all] = [new Set(), 0, 0];
  for (let k = 1; k <= step; k++) {
    const [kind, gap] = kindOf(method, k);
    const next = [...cells];
    [fresh, added] = [new Set(), 0];
    const add = (to, from, upTo) => {
      next[to] = [from, upTo];
      fresh.add(to);
      added += 1;
    };
    if (kind === "steps")
      for (let t = gap; t < N; t++) add(t, cells[t - gap][0], cells[t][1]);
    if (kind === "up")
      for (let t = 2 * gap - 1; t < N; t += 2 * gap) add(t, cells[t - gap][0], cells[t][1]);
    if (kind === "zero") {
      next[N - 1] = [0, 0];
      fresh.add(N - 1);
    }
    if (kind === "down")
      for (let t = 2 * gap - 1; t < N; t += 2 * gap) {
        next[t - gap] = cells[t];
        fresh.add(t - gap);
        add(t, cells[t][0], cells[t - gap][1]);
      }
    cells = next;
    all += added;
  }
  return { cells, fresh, added, all };
}

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
      : `Each cell holds the sum of up to ${2 * gap} elements, as many more as it had.`;
  if (kind === "up")
    return `${counted(added, "cell has", "cells have")} a sum of ${2 * gap}; the others are left alone.`;
  if (kind === "zero") return "Nothing lies before the whole. The sum of all is given up for that.";
  if (step === LAST.tree)
    return "Each cell holds the sum of what lies before its place: the exclusive scan.";
  return `${counted(2 * added, "cell holds", "cells hold")} what lies before their ${gap === 1 ? "element" : `${gap} elements`}.`;
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
