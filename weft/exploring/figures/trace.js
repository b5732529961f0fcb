// What a learner's own kernel did: its lines, and the requests of each access.

import { draw as drawBanks } from "./banks.js";
import { counted, figure, h, number, picture, text } from "./figure.js";
import { draw as drawMap } from "./warp_access.js";

const per = (value) => number(value, value < 10 && value % 1 ? 1 : 0);

/** "4 sectors" or "2 passes" a request, on average. */
function cost({ shared, per: each }) {
  const unit = shared ? ["pass", "passes"] : ["sector", "sectors"];
  return `${per(each)} ${unit[each === 1 ? 0 : 1]}`;
}

const MARK = /^\s*# (BEGIN|END) SOLUTION\s*$/; // the book's pages leave it out too

function listing(state, set) {
  const chosen = state.accesses[state.chosen];
  const lines = state.code.filter(([, words]) => !MARK.test(words));
  return h(
    "div",
    { class: "listing" },
    lines.map(([line, words]) =>
      h(
        "div",
        { class: chosen?.line === line ? "line here" : "line" },
        h("span", { class: "lineno" }, String(line)),
        h("pre", {}, words || " "),
        h(
          "span",
          { class: "accesses" },
          state.accesses.map((access, i) =>
            access.line !== line
              ? null
              : h(
                  "button",
                  {
                    type: "button",
                    class: access.per > access.ideal ? "bad" : null,
                    "data-key": `access-${i}`,
                    "aria-pressed": String(i === state.chosen),
                    onclick: () => set({ chosen: i, request: 0 }),
                  },
                  `${access.store ? "→" : "←"} ${access.array}: ${cost(access)}`,
                ),
          ),
        ),
      ),
    ),
  );
}

function draw(state, width, set) {
  const code = listing(state, set);
  const access = state.accesses[state.chosen];
  if (!access) {
    const lines = ["No access to an array was seen.", "Once the kernel has some, run this cell again."];
    return {
      code,
      picture: picture(width, 44, lines.map((line, i) => text(0, 14 + 22 * i, line, "soft"))),
    };
  }
  const { lanes, addresses } = access.shown[state.request];
  const one = { ...state, code, size: access.size, layout: "array", lanes, addresses };
  const out = access.shared ? drawBanks(one, width) : drawMap(one, width);
  const verb = access.store ? "written" : "read";
  return {
    ...out,
    code,
    numbers: [...out.numbers, [number(access.requests), "requests in all"]],
    said:
      `Line ${access.line}: ${access.array} is ${verb} by ${counted(lanes.length, "lane")}. ` +
      out.said,
  };
}

const current = (state) => state.accesses[state.chosen];

export default figure({
  defaults: { code: [], accesses: [], chosen: 0, request: 0 },
  fit: (state) => ({
    ...state,
    request: Math.min(state.request, Math.max(0, (current(state)?.shown.length ?? 1) - 1)),
  }),
  controls: [
    {
      kind: "range",
      key: "request",
      label: "the request of",
      max: (state) => current(state).shown.length - 1,
      text(at, state) {
        const { block, warp, time } = current(state).shown[at];
        return `block ${block}, warp ${warp}${time ? `, time ${time + 1}` : ""}`;
      },
      when: (state) => current(state)?.shown.length > 1,
    },
  ],
  codeFirst: true,
  draw,
});
