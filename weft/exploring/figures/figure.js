// What every figure is made of: elements, controls, and a frame that redraws.
//
// A figure is the default export of its module, in anywidget's shape. Its state is one
// dictionary, the model's `state`; what that leaves out is in the figure's `defaults`.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== false));
  return node;
}

/** Make an HTML element. Attributes that begin with "on" are listeners. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const rect = (x, y, width, height, kind, more = {}) =>
  s("rect", { x, y, width, height, class: kind, ...more });

export const text = (x, y, words, kind = "", more = {}) =>
  s("text", { x, y, class: kind, ...more }, String(words));

/** A picture of `width` by `height` CSS pixels. `hatch` is free to be used in it. */
export function picture(width, height, ...children) {
  return s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
    children,
  );
}

/** Diagonal lines over a rectangle, as one path; no ids, so no clashes in a page. */
export function hatch(x, y, width, height, kind = "hatch", gap = 5) {
  let d = "";
  for (let at = gap - height; at < width; at += gap) {
    const [x0, y0] = at < 0 ? [0, -at] : [at, 0];
    const length = Math.min(width - x0, height - y0);
    if (length > 0.5) d += `M${r(x + x0)} ${r(y + y0)}l${r(length)} ${r(length)}`;
  }
  return s("path", { d, class: kind });
}

const r = (value) => Math.round(value * 100) / 100;

export const number = (value, digits = 0) =>
  value.toLocaleString("en-GB", { maximumFractionDigits: digits });

/** "1 sector", "4 sectors" */
export const counted = (n, one, many = `${one}s`) =>
  `${number(n)} ${n === 1 ? one : many}`;

const value = (of, state) => (typeof of === "function" ? of(state) : of);

// Controls. Each takes its description and `set`, and returns a node and `show(state)`.

const make = {
  range(spec, set) {
    // `from` and `to` lead from the state's value to the slider's, and back.
    const { from = (v) => v, to = (v) => v, text: word = (v) => number(v) } = spec;
    const input = h("input", {
      type: "range",
      step: spec.step ?? 1,
      oninput: () => set({ [spec.key]: to(Number(input.value)) }),
    });
    const shown = h("span", { class: "value" });
    return {
      node: h("label", { class: "range" }, h("span", {}, spec.label, " ", shown), input),
      show(state) {
        input.min = value(spec.min ?? 0, state);
        input.max = value(spec.max, state);
        input.value = from(state[spec.key]);
        shown.textContent = word(state[spec.key], state);
        input.setAttribute("aria-valuetext", shown.textContent);
      },
    };
  },

  choice(spec, set) {
    // Of the whole document: in a notebook each figure has a copy of this module.
    const name = `weft-choice-${Math.random().toString(36).slice(2)}`;
    const inputs = spec.options.map(([option, words]) => {
      const input = h("input", {
        type: "radio",
        name,
        value: option,
        onchange: () => set({ [spec.key]: option }),
      });
      return [option, input, h("label", {}, input, h("span", {}, words))];
    });
    return {
      node: h(
        "fieldset",
        { class: "choice" },
        h("legend", {}, spec.label),
        h("div", {}, ...inputs.map(([, , label]) => label)),
      ),
      show(state) {
        for (const [option, input] of inputs) input.checked = option === state[spec.key];
      },
    };
  },

  menu(spec, set) {
    const menu = h("select", {
      onchange: () => set({ [spec.key]: spec.options[menu.selectedIndex][0] }),
    });
    for (const [, words] of spec.options) menu.append(h("option", {}, words));
    return {
      node: h("label", { class: "menu" }, h("span", {}, spec.label), menu),
      show(state) {
        menu.selectedIndex = spec.options.findIndex(([o]) => o === state[spec.key]);
      },
    };
  },

  toggle(spec, set) {
    const input = h("input", {
      type: "checkbox",
      onchange: () => set({ [spec.key]: input.checked }),
    });
    return {
      node: h("label", { class: "toggle" }, input, h("span", {}, spec.label)),
      show: (state) => void (input.checked = state[spec.key]),
    };
  },

  text(spec, set) {
    const input = h("input", {
      type: "text",
      size: spec.columns ?? 20,
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => set({ [spec.key]: input.value }),
    });
    return {
      node: h("label", { class: "text" }, h("span", {}, spec.label), input),
      show(state) {
        if (input.value !== state[spec.key]) input.value = state[spec.key];
      },
    };
  },

  buttons(spec, set, read) {
    const items = spec.items.map(([words, change, ready]) => {
      const press = () => {
        if (button.getAttribute("aria-disabled") !== "true") set(change(read()));
      };
      const button = h("button", { type: "button", onclick: press }, words);
      return [button, ready];
    });
    return {
      node: h(
        "div",
        { class: "buttons", role: "group", "aria-label": spec.label },
        ...items.map(([button]) => button),
      ),
      show(state) {
        // Not `disabled`: that would take the focus away from who presses it.
        for (const [button, ready] of items)
          button.setAttribute("aria-disabled", ready ? !ready(state) : false);
      },
    };
  },
};

/**
 * Make a figure.
 *
 * A page may ask for a few of its controls: the state's `only` lists their keys.
 *
 * defaults: its state. controls: descriptions of what changes it, in order: `kind`
 * (range, choice, menu, toggle, text, buttons), `key`, `label`, `when(state)`.
 * fit(state): the state made consistent. draw(state, width, set): what is seen, as
 * { code, picture, numbers: [[value, label, mark]], said }.
 * hand(state): for a picture that is operated itself, { label, words, now, max },
 * with key(state, name) and pick(state, data) returning changes. hover: a mouse picks
 * without a click. drag(state, x, width): changes while a pointer is dragged over the
 * picture. codeFirst: code above controls.
 */
export function figure(spec) {
  const { defaults, controls, draw, fit = (state) => state, hand, key, pick, drag } = spec;

  function render({ model, el }) {
    const read = () => fit({ ...defaults, ...model.get("state") });
    const set = (changes) => {
      if (!changes) return;
      model.set("state", { ...read(), ...changes });
      model.save_changes();
    };
    const built = controls.map((spec) => ({ ...make[spec.kind](spec, set, read), spec }));
    const ranges = built.filter((c) => c.spec.kind === "range").map((c) => c.node);
    const others = built.filter((c) => c.spec.kind !== "range").map((c) => c.node);
    const bar = h(
      "div",
      { class: "controls" },
      others,
      ranges.length > 0 && h("div", { class: "ranges" }, ranges),
    );
    const code = h("div", { class: "code" });
    const seen = h("div", { class: "seen" });
    const numbers = h("div", { class: "numbers" });
    const said = h("p", { class: "said", role: "status" });
    const top = spec.codeFirst ? [code, bar] : [bar, code];
    const root = h("div", { class: "weft-figure" }, top, seen, numbers, said);
    el.append(root);

    if (hand) {
      seen.tabIndex = 0;
      seen.setAttribute("role", "slider");
      seen.addEventListener("keydown", (event) => {
        const changes = key(read(), event.key);
        if (!changes) return;
        event.preventDefault();
        set(changes);
      });
    }
    if (pick) {
      const take = (event) => {
        const hit = event.target.closest("[data-pick]");
        if (hit) set(pick(read(), hit.dataset.pick));
      };
      seen.addEventListener("click", take);
      if (spec.hover) {
        // The picture is drawn anew below a pointer that rests: that is no move.
        let over = null;
        seen.addEventListener("pointermove", (event) => {
          if (event.pointerType !== "mouse") return;
          const on = event.target.closest("[data-pick]")?.dataset.pick ?? null;
          if (on !== over && on !== null) take(event);
          over = on;
        });
      }
    }

    if (drag) {
      seen.classList.add("dragged");
      const move = (event) => {
        const box = seen.firstChild.getBoundingClientRect();
        if (event.buttons) set(drag(read(), event.clientX - box.left, box.width));
      };
      seen.addEventListener("pointerdown", (event) => {
        seen.setPointerCapture(event.pointerId);
        move(event);
      });
      seen.addEventListener("pointermove", move);
    }

    function show() {
      const state = read();
      const width = seen.clientWidth || 704;
      for (const { node, show, spec } of built) {
        const wanted = !state.only || state.only.includes(spec.key);
        node.hidden = !wanted || (Boolean(spec.when) && !spec.when(state));
        if (!node.hidden) show(state);
      }
      const out = draw(state, width, set);
      const focused = root.getRootNode().activeElement?.dataset?.key;
      seen.replaceChildren(out.picture);
      code.replaceChildren(...[out.code ?? []].flat().filter(Boolean));
      // What had the focus was replaced by its like.
      if (focused) root.querySelector(`[data-key="${focused}"]`)?.focus();
      code.hidden = !out.code;
      numbers.replaceChildren(
        ...(out.numbers ?? []).map(([amount, label, mark]) =>
          h("div", { class: mark }, h("b", {}, String(amount)), " ", h("span", {}, label)),
        ),
      );
      if (said.textContent !== out.said) said.textContent = out.said ?? "";
      if (hand) {
        const { label, words, now, max } = hand(state);
        seen.setAttribute("aria-label", label);
        seen.setAttribute("aria-valuetext", words);
        seen.setAttribute("aria-valuemin", 0);
        seen.setAttribute("aria-valuenow", now);
        seen.setAttribute("aria-valuemax", max);
      }
    }

    let last = 0;
    const observer = new ResizeObserver(() => {
      if (seen.clientWidth !== last) {
        last = seen.clientWidth;
        show();
      }
    });
    model.on("change:state", show);
    show();
    last = seen.clientWidth;
    observer.observe(seen);
    return () => {
      observer.disconnect();
      model.off("change:state", show);
    };
  }
  return { render };
}
