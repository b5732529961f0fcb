// A ring of stages between a producer and a consumer, with two mbarriers per stage. Held
// against the simulator's mbarriers by tests/figures/test_ring.py.

export const TILES = 8;
export const BYTES = 16384; // of a tile

const bar = (count) => ({ phase: 0, count, missing: count, bytes: 0 });

/** Whether a wait for a phase of this parity returns: the phase before has it. */
export const returns = ({ phase }, parity) => phase % 2 !== parity;

function settle(bar) {
  if (bar.missing || bar.bytes) return;
  bar.phase += 1;
  bar.missing = bar.count;
}

/**
 * The ring after a sequence of steps. "p": the producer waits at `empty`, announces the
 * bytes of its tile at `full` and starts the copy. "b": the oldest copy arrives. "c": the
 * consumer waits at `full` and begins to use a tile, or is done and arrives at `empty`.
 * A step that cannot be done is left out.
 *
 * first: the parities of the first round, { producer, consumer }, right as 1 and 0.
 *
 * Returns { order, full, empty, stages, copies, producer, consumer, last, wrong }: `order`
 * without the steps left out, `stages` the tile that each one holds and whether it is
 * "free", "copying", "ready", "read" or "used", `copies` the tiles in flight, the threads
 * with { tile, stage, parity, done, waits }, and `wrong` the tiles read too early.
 */
export function played(order, { stages: depth, first = { producer: 1, consumer: 0 } }) {
  const all = Array.from({ length: depth }, (_, stage) => stage);
  const [full, empty] = [all.map(() => bar(1)), all.map(() => bar(1))];
  const stages = all.map(() => ({ tile: null, state: "free" }));
  const [copies, wrong] = [[], []];
  const thread = (parity) => ({ tile: 0, stage: 0, parity, using: false, done: false });
  const [producer, consumer] = [thread(first.producer), thread(first.consumer)];
  let [taken, last] = ["", null];

  const advance = (thread) => {
    thread.tile += 1;
    thread.stage += 1;
    if (thread.stage === depth) {
      thread.stage = 0;
      thread.parity ^= 1;
    }
    thread.done = thread.tile === TILES;
  };
  const waits = {
    p: () => !producer.done && !returns(empty[producer.stage], producer.parity),
    c: () => !consumer.done && !consumer.using && !returns(full[consumer.stage], consumer.parity),
  };
  const steps = {
    p() {
      if (producer.done || waits.p()) return false;
      const { tile, stage } = producer;
      full[stage].bytes += BYTES;
      full[stage].missing -= 1;
      settle(full[stage]);
      stages[stage] = { tile, state: "copying" };
      copies.push({ tile, stage });
      advance(producer);
      return true;
    },
    b() {
      if (!copies.length) return false;
      const { tile, stage } = copies.shift();
      full[stage].bytes -= BYTES;
      settle(full[stage]);
      stages[stage] = { tile, state: "ready" };
      return true;
    },
    c() {
      if (consumer.done || waits.c()) return false;
      const { tile, stage } = consumer;
      if (!consumer.using) {
        const held = stages[stage];
        if (held.tile !== tile || held.state !== "ready") wrong.push(tile);
        else held.state = "read";
        consumer.using = true;
        return true;
      }
      if (stages[stage].tile === tile && stages[stage].state === "read") stages[stage].state = "used";
      empty[stage].missing -= 1;
      settle(empty[stage]);
      consumer.using = false;
      advance(consumer);
      return true;
    },
  };
  for (const step of order) {
    if (!steps[step]?.()) continue;
    taken += step;
    last = step;
  }
  return {
    order: taken,
    full,
    empty,
    stages,
    copies: copies.map(({ tile }) => tile),
    producer: { ...producer, waits: waits.p() },
    consumer: { ...consumer, waits: waits.c() },
    last,
    wrong,
  };
}

/** Whether a step can be done after these. */
export const possible = (order, ring, step) =>
  played(order + step, ring).order.length > played(order, ring).order.length;
