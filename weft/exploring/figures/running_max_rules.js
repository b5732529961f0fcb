// Attention of one query, tile by tile of its keys, with a running maximum. Held against
// chapter 24's attention by tests/figures/test_running_max.py.

export const TILE = 4;
const MIXED = [1.4, 0.9, 2, 1.6, 0.8, 1.1, 0.4, 1.3, 3, 2.5, 1, 2.1, 2.7, 0.6, 3.6, 1.5];

/** The scores of 16 keys: "mixed", or the same ones "rising" or "falling". */
export function scores(kind) {
  if (kind === "mixed") return [...MIXED];
  const sorted = [...MIXED].sort((a, b) => a - b);
  return kind === "rising" ? sorted : sorted.reverse();
}

export const TILES = MIXED.length / TILE;

/**
 * The state after `step` tiles of keys; the value of key j is the number j.
 *
 * correct: whether what has been added is multiplied by the factor of each new maximum.
 *
 * Returns { tops, factor, before, weights, total, sum, output }: the maximum after each
 * tile, the factor of the last one, each key's part of the sum of weights before and
 * after that factor, and output = sum / total, null at the beginning.
 */
export function after(step, scores, correct = true) {
  let [top, total, sum, factor] = [-Infinity, 0, 0, 1];
  let [weights, before] = [[], []];
  const tops = [];
  for (let tile = 0; tile < step; tile++) {
    const mine = scores.slice(TILE * tile, TILE * (tile + 1));
    const next = Math.max(top, ...mine);
    factor = tile ? Math.exp(top - next) : 1;
    const applied = correct ? factor : 1;
    before = weights;
    weights = before.map((weight) => weight * applied);
    total *= applied;
    sum *= applied;
    mine.forEach((score, i) => {
      const weight = Math.exp(score - next);
      weights.push(weight);
      total += weight;
      sum += weight * (TILE * tile + i);
    });
    tops.push((top = next));
  }
  return { tops, factor, before, weights, total, sum, output: step ? sum / total : null };
}

/** The weighted mean of the values by the softmax of all scores at once. */
export function exactly(scores) {
  const powers = scores.map((score) => Math.exp(score));
  const total = powers.reduce((a, b) => a + b);
  return powers.reduce((sum, power, key) => sum + power * key, 0) / total;
}
