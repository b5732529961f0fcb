// The sum of a block in eight steps: which lanes add, and where their places are.

import { counted as plural, figure, hatch, number, picture, rect, s, text } from "./figure.js";
import { WARP } from "./counting.js";
import { BLOCK, STEPS, adding, byWarp, counted } from "./tree_rules.js";

const WARPS = BLOCK / WARP;
const CODE = {
  interleaved: (gap) => `if t % ${2 * gap} == 0: tile[t] += tile[t + ${gap}]`,
  packed: (gap) => `if t < ${BLOCK / (2 * gap)}: tile[${2 * gap} * t] += tile[${2 * gap} * t + ${gap}]`,
  halves: (gap) => `if t < ${gap}: tile[t] += tile[t + ${gap}]`,
};

function grid(x, y, cell, tall) {
  let d = "";
  for (let i = 0; i <= WARP; i++) d += `M${x + i * cell} ${y}v${WARPS * tall}`;
  for (let i = 0; i <= WARPS; i++) d += `M${x} ${y + i * tall}h${WARP * cell}`;
  return s("path", { d, class: "grid" });
}

function draw({ tree, step }, width) {
  const wide = width >= 560;
  const left = wide ? 58 : 22;
  const cell = (width - left - 1) / WARP;
  const tall = Math.min(cell, 16);
  const at = (n) => [left + (n % WARP) * cell, Math.floor(n / WARP) * tall];
  const { gap, pairs } = step ? adding(tree, step) : { gap: 0, pairs: [] };
  const warps = byWarp(pairs);
  const adds = new Set(pairs.map(([thread]) => thread));
  const out = [text(left, 11, "threads: a row is a warp", "soft")];
  let top = 18;
  out.push(rect(left, top, WARP * cell, WARPS * tall, "empty"));
  for (let warp = 0; warp < WARPS; warp++) {
    const y = top + warp * tall;
    if (wide || warp % 2 === 0)
      out.push(text(left - 6, y + tall - 2, wide ? `warp ${warp}` : warp, "soft end"));
    if (!warps.has(warp)) continue;
    for (let lane = 0; lane < WARP; lane++) {
      const x = left + lane * cell;
      if (adds.has(warp * WARP + lane)) out.push(rect(x, y, cell, tall, "used"));
      else out.push(rect(x, y, cell, tall, "gone"), hatch(x, y, cell, tall, "hatch waste", 4));
    }
  }
  out.push(grid(left, top, cell, tall));
  top += WARPS * tall + 22;
  out.push(text(left, top - 7, "shared memory: a column is a bank", "soft"));
  out.push(rect(left, top, WARP * cell, WARPS * tall, "empty"));
  const [first = []] = warps.values();
  for (const [, place] of pairs)
    for (const n of [place, place + gap]) {
      const [x, y] = at(n);
      out.push(rect(x, top + y, cell, tall, "band"));
    }
  for (const place of first) {
    const [x, y] = at(place);
    out.push(rect(x, top + y, cell, tall, "used"));
  }
  out.push(grid(left, top, cell, tall));
  const height = top + WARPS * tall;
  const cost = step ? counted(tree, step) : { warps: 0, idle: 0, passes: 0 };
  const said = words(tree, step, cost, pairs.length);
  return {
    code: step ? CODE[tree](gap) : `tile[t] = x[i]`,
    picture: picture(width, height + 2, out),
    numbers: [
      [number(pairs.length), pairs.length === 1 ? "addition" : "additions"],
      [number(cost.warps), cost.warps === 1 ? "warp takes part" : "warps take part"],
      [number(cost.idle), "of their lanes idle", cost.idle > 0 && "bad"],
      [
        number(cost.passes),
        `${cost.passes === 1 ? "pass" : "passes"} for a load`,
        cost.passes > 1 && "bad",
      ],
    ],
    said,
  };
}

function words(tree, step, { warps, idle, passes }, adds) {
  if (!step) return `${BLOCK} numbers are in shared memory, one for each thread.`;
  const end = step === STEPS ? " Element 0 holds the sum." : "";
  if (passes > 1)
    return (
      `The lanes are neighbours, but their elements are not: ${passes} of the words that a ` +
      `warp needs at once are in the same bank.${end}`
    );
  if (idle && warps > 1)
    return `${plural(warps, "warp")} spend time on an addition, although only ${plural(adds, "lane adds", "lanes add")}.${end}`;
  if (idle)
    return `One warp is left, in which ${plural(adds, "lane adds", "lanes add")}. From here on, every tree leaves lanes idle; shuffles can finish the sum without shared memory.${end}`;
  return `The lanes that add are neighbours, their elements are in different banks, and the other warps skip the step.${end}`;
}

export default figure({
  defaults: { tree: "interleaved", step: 1 },
  controls: [
    {
      kind: "choice",
      key: "tree",
      label: "Tree",
      options: [
        ["interleaved", "interleaved"],
        ["packed", "packed"],
        ["halves", "sequential"],
      ],
    },
    {
      kind: "buttons",
      label: "Steps",
      items: [
        ["Step", (now) => ({ step: now.step + 1 }), (now) => now.step < STEPS],
        ["Back", (now) => ({ step: now.step - 1 }), (now) => now.step > 0],
        ["To the end", () => ({ step: STEPS }), (now) => now.step < STEPS],
        ["Start again", () => ({ step: 0 }), (now) => now.step > 0],
      ],
    },
  ],
  draw,
});
