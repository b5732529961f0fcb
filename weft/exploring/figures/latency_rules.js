// A warp scheduler with one instruction a cycle, and warps that wait for their loads.

/**
 * What happens in `cycles` cycles.
 *
 * Each of `warps` repeats: `work` instructions, a load, and `latency` cycles of waiting
 * for it. In a divergent branch the instructions are issued once for each of `ways`.
 * Returns { issued, busy }: issued[warp] lists { cycle, load }, busy counts cycles in
 * which the scheduler had an instruction to issue. It stays with a warp until that has
 * to wait, and then takes the next in turn that is ready.
 */
export function schedule({ warps, work, latency, ways = 1 }, cycles) {
  const each = work * ways;
  const ready = new Array(warps).fill(0);
  const done = new Array(warps).fill(0);
  const issued = Array.from({ length: warps }, () => []);
  let last = 0;
  let busy = 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    for (let i = 0; i < warps; i++) {
      const warp = (last + i) % warps;
      if (ready[warp] > cycle) continue;
      const load = done[warp] === each;
      issued[warp].push({ cycle, load });
      done[warp] = load ? 0 : done[warp] + 1;
      ready[warp] = cycle + 1 + (load ? latency : 0);
      last = warp;
      busy += 1;
      break;
    }
  }
  return { issued, busy };
}

/** How much of the time the scheduler is busy in the long run, 0 to 1. */
export function busyShare({ warps, work, latency, ways = 1 }) {
  const instructions = work * ways + 1;
  return Math.min(1, (warps * instructions) / (instructions + latency));
}

/** How many warps keep it busy all the time. */
export function enough({ work, latency, ways = 1 }) {
  const instructions = work * ways + 1;
  return Math.ceil((instructions + latency) / instructions);
}
