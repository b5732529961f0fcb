// A ring of stages: which phase each mbarrier is in, and which waits return.

import { counted, figure, h, hatch, picture, rect, text } from "./figure.js";
import { BYTES, TILES, played, possible, returns } from "./ring_rules.js";

const KB = 1024;
const FIRST = {
  right: { producer: 1, consumer: 0 },
  producer: { producer: 0, consumer: 0 },
  consumer: { producer: 1, consumer: 1 },
};
const STATES = { free: "free", copying: "copying", ready: "ready", read: "in use", used: "used" };

const ring = (state) => ({ stages: state.stages, first: FIRST[state.first] });

/** An mbarrier: its phase, the parities whose waits return, and what is missing. */
function mbarrier(x, y, room, bar, asked, letter) {
  const middle = x + room / 2;
  const out = [rect(x + 2, y, room - 4, 78, "box"), text(middle, y + 16, `phase ${bar.phase}`, "cell")];
  for (const parity of [0, 1]) {
    const open = returns(bar, parity);
    const left = middle - 22 + 22 * parity;
    out.push(rect(left, y + 22, 20, 20, open ? "used" : "element"));
    out.push(text(left + 10, y + 36, parity, open ? "cell on" : "cell"));
    if (asked === parity) {
      out.push(rect(left - 1, y + 21, 22, 22, open ? "edge" : "chosen"));
      const beside = parity ? left + 31 : left - 11;
      out.push(text(beside, y + 36, letter, open ? "cell strong" : "cell warn"));
    }
  }
  out.push(text(middle, y + 57, counted(bar.missing, "arrival"), "letter"));
  return [out, middle];
}

function draw(state, width) {
  const now = played(state.order, ring(state));
  const left = width >= 480 ? 62 : 44;
  const room = Math.min((width - left - 1) / state.stages, 130);
  const rows = { stage: 20, full: 68, empty: 162 };
  const out = [
    text(0, rows.stage + 21, "stage", "soft"),
    text(0, rows.full + 16, "full", "mono soft"),
    text(0, rows.empty + 16, "empty", "mono soft"),
    text(0, rows.full + 36, "wait", "soft"),
    text(0, rows.empty + 36, "wait", "soft"),
    text(0, rows.full + 60, "missing", "letter", { style: "text-anchor: start" }),
    text(0, rows.empty + 60, "missing", "letter", { style: "text-anchor: start" }),
  ];
  now.stages.forEach(({ tile, state: held }, stage) => {
    const x = left + stage * room;
    const kind = { free: "empty", copying: "empty", ready: "band", read: "used", used: "empty" }[held];
    out.push(text(x + room / 2, 12, stage, "letter"));
    out.push(rect(x + 2, rows.stage, room - 4, 36, kind));
    if (held === "copying") out.push(hatch(x + 2, rows.stage, room - 4, 36, "hatch", 6));
    out.push(rect(x + 2, rows.stage, room - 4, 36, "box"));
    const ink = held === "read" ? "cell on" : "cell over";
    if (tile !== null) out.push(text(x + room / 2, rows.stage + 15, `tile ${tile}`, ink));
    out.push(text(x + room / 2, rows.stage + (tile === null ? 22 : 29), STATES[held], ink));
    const { producer, consumer } = now;
    const reads = !consumer.done && !consumer.using && consumer.stage === stage;
    const [full, middle] = mbarrier(x, rows.full, room, now.full[stage], reads ? consumer.parity : null, "C");
    out.push(...full, text(middle, rows.full + 71, `${now.full[stage].bytes / KB} KB`, "letter"));
    const fills = !producer.done && producer.stage === stage;
    const [empty] = mbarrier(x, rows.empty, room, now.empty[stage], fills ? producer.parity : null, "P");
    out.push(...empty);
  });
  const ahead = now.producer.tile - now.consumer.tile;
  return {
    code: [line("P", now.producer, "empty"), line("C", now.consumer, "full")],
    picture: picture(width, rows.empty + 80, out),
    numbers: [
      [ahead, `${ahead === 1 ? "tile" : "tiles"} that P is ahead`],
      [now.copies.length, now.copies.length === 1 ? "copy in flight" : "copies in flight"],
      ...early(now.wrong.length),
    ],
    said: words(state, now),
  };
}

const early = (tiles) =>
  tiles ? [[tiles, `${tiles === 1 ? "tile" : "tiles"} read too early`, "bad"]] : [];

/** What a thread does next. */
function line(name, thread, bars) {
  if (thread.done) return h("div", {}, `${name}: all ${TILES} tiles are done`);
  const call = thread.using
    ? `mbarrier_arrive(empty, ${thread.stage})`
    : `mbarrier_wait(${bars}, ${thread.stage}, ${thread.parity})`;
  const ends = thread.using ? "is next" : thread.waits ? "waits" : "returns";
  return h("div", {}, `${name}, tile ${thread.tile}: `, h("code", {}, call), ` ${ends}`);
}

function words({ stages, first }, now) {
  const { producer, consumer } = now;
  const stuck = producer.waits && consumer.waits && !now.copies.length;
  if (stuck)
    return (
      "Neither can go on. No phase of empty is complete until the consumer has used a tile, and there is none. " +
      "In the first round, the producer has to wait for parity 1."
    );
  if (now.wrong.length)
    return `In the first round, a wait for parity 1 returns at once. The consumer has read tile ${now.wrong.at(-1)} before its bytes were there.`;
  if (producer.done && consumer.done)
    return `All ${TILES} tiles have gone through ${stages} stages. The parity was enough, because no thread was ever two phases behind.`;
  if (first !== "right" || !now.order)
    return first === "producer"
      ? "No wait for parity 0 returns in phase 0: the phase before it counts as odd."
      : "Nothing has happened yet, but a wait for parity 1 returns at once: the phase before phase 0 counts as odd.";
  const freed = (consumer.tile - 1) % stages;
  const arrived = producer.tile - now.copies.length - 1;
  if (now.last === "c" && !consumer.using)
    return `The consumer has arrived at empty[${freed}], so its phase is complete: a new tile may be copied into stage ${freed}.`;
  if (now.last === "c")
    return `The consumer uses tile ${consumer.tile}. Until it arrives at empty[${consumer.stage}], no copy into that stage can begin.`;
  if (now.last === "b")
    return `Tile ${arrived} has arrived. No arrival and no byte is missing at full[${arrived % stages}], so its phase is complete.`;
  if (producer.waits)
    return `The ring is full. The producer waits until tile ${producer.tile - stages} has been used.`;
  return `The producer has arrived at full[${(producer.tile - 1) % stages}], but ${BYTES / KB} KB are missing, so the phase is not complete.`;
}

const step = (which) => [
  (now) => ({ order: now.order + which }),
  (now) => possible(now.order, ring(now), which),
];

export default figure({
  defaults: { stages: 3, first: "right", order: "" },
  // Steps that lead nowhere are forgotten, so that going back takes one back.
  fit: (state) => ({ ...state, order: played(state.order, ring(state)).order }),
  controls: [
    {
      kind: "choice",
      key: "stages",
      label: "Stages",
      options: [2, 3, 4].map((n) => [n, String(n)]),
    },
    {
      kind: "choice",
      key: "first",
      label: "The first round waits for",
      options: [
        ["right", "P 1, C 0"],
        ["producer", "P 0, C 0"],
        ["consumer", "P 1, C 1"],
      ],
    },
    {
      kind: "buttons",
      key: "order",
      label: "Steps",
      items: [
        ["Producer P", ...step("p")],
        ["A copy arrives", ...step("b")],
        ["Consumer C", ...step("c")],
        ["Back", (now) => ({ order: now.order.slice(0, -1) }), (now) => now.order !== ""],
        ["Start again", () => ({ order: "" }), (now) => now.order !== ""],
      ],
    },
  ],
  draw,
});
