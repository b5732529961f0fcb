// Which rank sends which chunk of a tensor to which other in an all-reduce, by a ring or by a tree. The
// messages are held against chapter 28's functions by tests/figures/test_all_reduce.py.

const modulo = (n, size) => ((n % size) + size) % size;
const upTo = (n) => Array.from({ length: n }, (_, i) => i);

/** Steps of an all-reduce over `size` ranks. */
export const steps = (method, size) => 2 * (method === "ring" ? size - 1 : Math.ceil(Math.log2(size)));

/** The messages of a step, counted from 0: [{ from, to, chunks, adds }]. */
export function messages(method, size, step) {
  const half = steps(method, size) / 2;
  const adds = step < half;
  if (method === "ring")
    return upTo(size).map((rank) => ({
      from: rank,
      to: (rank + 1) % size,
      chunks: [modulo(rank - step, size)],
      adds,
    }));
  const distance = 1 << (adds ? step : 2 * half - 1 - step);
  return upTo(size)
    .filter((rank) => rank % (2 * distance) === distance)
    .map((rank) => ({
      from: adds ? rank : rank - distance,
      to: adds ? rank - distance : rank,
      chunks: upTo(size),
      adds,
    }));
}

/**
 * The ranks after `count` steps: { held, fresh, sent, last }. held[rank][chunk] lists the
 * ranks whose numbers are in that sum, fresh[rank] the chunks that the last step has
 * brought, sent[rank] how many chunks a rank has sent, last the messages of the last step.
 */
export function after(method, size, count) {
  let held = upTo(size).map((rank) => upTo(size).map(() => [rank]));
  let fresh = upTo(size).map(() => []);
  const sent = upTo(size).map(() => 0);
  let last = [];
  for (let step = 0; step < count; step++) {
    last = messages(method, size, step);
    fresh = upTo(size).map(() => []);
    const next = held.map((chunks) => [...chunks]);
    for (const { from, to, chunks, adds } of last) {
      sent[from] += chunks.length;
      fresh[to] = chunks;
      for (const chunk of chunks) {
        const arrived = held[from][chunk];
        next[to][chunk] = adds ? [...held[to][chunk], ...arrived].sort((a, b) => a - b) : arrived;
      }
    }
    held = next;
  }
  return { held, fresh, sent, last };
}

/** The longest time of all, { latencies, sizes }: a α + b n / β, for a tensor of n bytes. */
export function cost(method, size) {
  const latencies = steps(method, size);
  return { latencies, sizes: method === "ring" ? latencies / size : latencies };
}
