// Who adds in a tree over the numbers of a block, and what that costs its warps.

import { WARP, WORD, passes } from "./counting.js";

export const BLOCK = 256;
export const STEPS = 8;

/**
 * The step from 1 to 8 of a tree: { gap, pairs }, with a pair [thread, place] for each
 * thread that adds place + gap to place.
 *
 * interleaved: gaps grow, every (2 gap)th thread adds. packed: the same places, by the
 * first threads. halves: gaps shrink, the first threads add.
 */
export function adding(tree, step) {
  const gap = tree === "halves" ? BLOCK >> step : 1 << (step - 1);
  const count = tree === "halves" ? gap : BLOCK / (2 * gap);
  const pairs = Array.from({ length: count }, (_, i) => {
    if (tree === "halves") return [i, i];
    return [tree === "packed" ? i : 2 * gap * i, 2 * gap * i];
  });
  return { gap, pairs };
}

/** The places that each warp reads in a step: warp → places, in order of its lanes. */
export function byWarp(pairs) {
  const warps = new Map();
  for (const [thread, place] of pairs) {
    const warp = Math.floor(thread / WARP);
    if (!warps.has(warp)) warps.set(warp, []);
    warps.get(warp).push(place);
  }
  return warps;
}

/**
 * What a step costs: `warps` that come to the addition, lanes `idle` in them, and the
 * `passes` that the slowest of their loads takes.
 */
export function counted(tree, step) {
  const { pairs } = adding(tree, step);
  const warps = byWarp(pairs);
  const loads = [...warps.values()].map((places) =>
    passes(places.map((place) => WORD * place), WORD),
  );
  return {
    warps: warps.size,
    idle: WARP * warps.size - pairs.length,
    passes: Math.max(...loads),
  };
}
