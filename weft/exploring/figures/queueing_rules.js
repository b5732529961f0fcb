// Launches of a training step: when the host queues them and when the GPU runs them.

export const STEPS = 3;
export const KERNELS = 5; // in a step

/**
 * `STEPS` steps of `KERNELS` kernels. The host takes `queue` to queue one call, and a
 * kernel takes `run`. how: "launches", one call each; "waits", the same, but at the end
 * of each step the host waits for the GPU; "graph", one call for all kernels of a step.
 *
 * Returns { host, gpu, total }: spans { start, end, step, what } in order, of which the
 * host's are "queue" or "wait", and when the last kernel ends.
 */
export function timeline({ how, queue, run }) {
  const [host, gpu] = [[], []];
  let [now, free] = [0, 0]; // of the host, of the GPU
  const call = (step, kernels) => {
    host.push({ start: now, end: now + queue, step, what: "queue" });
    now += queue;
    for (let i = 0; i < kernels; i++) {
      const start = Math.max(now, free);
      free = start + run;
      gpu.push({ start, end: free, step, what: "kernel" });
    }
  };
  for (let step = 0; step < STEPS; step++) {
    if (how === "graph") call(step, KERNELS);
    else for (let i = 0; i < KERNELS; i++) call(step, 1);
    if (how === "waits" && free > now) {
      host.push({ start: now, end: free, step, what: "wait" });
      now = free;
    }
  }
  return { host, gpu, total: free };
}
