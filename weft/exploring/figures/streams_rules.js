// Copies and kernels in streams, on the three engines that serve them.

export const ENGINES = ["copy in", "kernel", "copy out"];

/**
 * When each piece of work runs. `pieces` are dealt to `streams` in turn; each is copied
 * in, computed and copied out, and `copy` and `work` are how long that takes for all of
 * the data. In a stream one thing follows another, and so it does on an engine. From
 * pageable memory the host copies itself and waits: nothing overlaps.
 *
 * Returns { events: [{ engine, piece, stream, start, end }], total }.
 */
export function schedule({ pieces, streams, copy, work, pinned }) {
  const engines = [0, 0, 0];
  const queues = new Array(streams).fill(0);
  const lengths = [copy, work, copy].map((all) => all / pieces);
  const events = [];
  let host = 0;
  for (let piece = 0; piece < pieces; piece++) {
    const stream = piece % streams;
    lengths.forEach((length, engine) => {
      const start = Math.max(engines[engine], queues[stream], pinned ? 0 : host);
      const end = start + length;
      engines[engine] = queues[stream] = end;
      if (!pinned) host = end;
      events.push({ engine, piece, stream, start, end });
    });
  }
  return { events, total: Math.max(...events.map((e) => e.end)) };
}
