// Two scans of 16 numbers, step by step: which of them each cell holds the sum of.

export const N = 16;
export const LEVELS = 4;
export const LAST = { steps: LEVELS, tree: 2 * LEVELS + 1 };

/** What step `k` of a method does, and with which gap. */
export function kindOf(method, k) {
  if (method === "steps") return ["steps", 2 ** (k - 1)];
  if (k <= LEVELS) return ["up", 2 ** (k - 1)];
  return k === LEVELS + 1 ? ["zero", 0] : ["down", 2 ** (2 * LEVELS + 1 - k)];
}

/** For each cell the range [from, to) of what it holds; `fresh` have just changed. */
export function after(method, step) {
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
