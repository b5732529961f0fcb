// Evidence in closed groups: a filter over all rows, and addresses that open a group.
"use strict";

(() => {
  const ROWS = "tbody tr:not(.total), .weft-names > li";
  const groups = [...document.querySelectorAll(".weft-group")];
  const box = document.querySelector(".weft-filter");
  const field = box?.querySelector("input");
  let rows; // of all groups, with their words, once they are needed
  let before; // what was open before something was typed

  /* ---- what a group contains ---- */

  // Its rows are text until they are needed: of 44,000 elements few are ever seen.
  const unread = new Map(
    groups.flatMap((group) => {
      const inside = group.querySelector(":scope > noscript");
      return inside ? [[group, inside]] : [];
    }),
  );
  const parts = new Map(); // the rows of groups that were read and are not shown yet

  function inside(group) {
    if (unread.has(group)) {
      const template = document.createElement("template");
      template.innerHTML = unread.get(group).textContent;
      unread.get(group).remove();
      unread.delete(group);
      parts.set(group, template.content);
    }
    return parts.get(group) ?? group;
  }

  function fill(group) {
    const rows = inside(group);
    if (rows === group) return;
    document.dispatchEvent(new CustomEvent("weft-rows", { detail: rows }));
    parts.delete(group);
    group.append(rows);
  }

  const holding = (id) =>
    document.getElementById(id) ??
    groups.find(
      (group) =>
        unread.get(group)?.textContent.includes(`id="${id}"`) ||
        parts.get(group)?.getElementById(id),
    );

  const paper = matchMedia("print");
  const print = () => paper.matches && groups.forEach(fill);
  paper.addEventListener("change", print);
  addEventListener("beforeprint", () => groups.forEach(fill));
  print();

  /* ---- addresses ---- */

  function show(target) {
    const panel = target.closest(".weft-gpu");
    if (panel) {
      const choice = panel.parentElement;
      const panels = [...choice.querySelectorAll(":scope > .weft-gpu")];
      choice.querySelectorAll(":scope > input")[panels.indexOf(panel)].checked = true;
    }
    target.closest(".weft-group").open = true;
    if (field?.value && !target.checkVisibility()) {
      field.value = "";
      filter();
      target.closest(".weft-group").open = true;
    }
    // In a later frame than the one that opens the group: nothing that is seen moves.
    const scroll = () => target.scrollIntoView({ behavior: "instant" });
    requestAnimationFrame(() => requestAnimationFrame(scroll));
  }

  function follow() {
    const id = decodeURIComponent(location.hash.slice(1));
    const group = id && holding(id)?.closest(".weft-group");
    if (!group) return;
    fill(group);
    show(document.getElementById(id));
  }

  // The rows get their links when their group is opened: there are thousands.
  function link(group) {
    for (const row of group.querySelectorAll("tr[id]:not(:has(.headerlink))")) {
      const to = document.createElement("a");
      to.className = "headerlink";
      to.href = `#${row.id}`;
      to.title = "Link to this row";
      to.textContent = "#";
      row.cells[0].append(to);
    }
  }

  for (const group of groups) {
    group.addEventListener("toggle", () => {
      if (!group.open) return;
      fill(group);
      link(group);
    });
  }
  addEventListener("hashchange", follow);
  document.addEventListener("click", ({ target }) => {
    // To where we are already: no change, but the group may have been closed.
    const to = target.closest?.('a[href^="#"]');
    if (to?.hash.length > 1 && to.hash === location.hash) follow();
  });

  /* ---- the filter ---- */

  const words = (element) => element?.textContent.toLowerCase() ?? "";

  function read() {
    return groups.flatMap((group) => {
      const title = words(group.querySelector(".weft-title"));
      return [...inside(group).querySelectorAll(ROWS)].map((row) => {
        const part = row.closest(".weft-part");
        const heading = words(part?.querySelector("h3, dt"));
        const panel = row.closest(".weft-gpu");
        return { row, group, part, panel, text: `${title} ${heading} ${words(row)}` };
      });
    });
  }

  function shown(panel) {
    const within = (kind) => [...panel.parentElement.querySelectorAll(`:scope > ${kind}`)];
    return within("input")[within(".weft-gpu").indexOf(panel)].checked;
  }

  function filter() {
    rows ??= read();
    for (const detail of parts.values())
      document.dispatchEvent(new CustomEvent("weft-rows", { detail }));
    const asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const all = new Map();
    const kept = new Map();
    const more = (counts, key) => key && counts.set(key, (counts.get(key) ?? 0) + 1);
    const picked = new Map(); // whether a GPU's panel is the one that is shown
    for (const { row, group, part, panel, text } of rows) {
      const keep = asked.every((word) => text.includes(word));
      row.hidden = !keep;
      if (keep) more(kept, part);
      if (panel && !picked.has(panel)) picked.set(panel, shown(panel));
      if (panel && !picked.get(panel)) continue;
      more(all, group);
      if (keep) more(kept, group);
    }
    for (const part of new Set(rows.map((each) => each.part))) {
      if (part) part.hidden = !kept.has(part);
    }
    arrange(asked.length > 0, kept, all);
  }

  function arrange(asked, kept, all) {
    before ??= new Map(groups.map((group) => [group, group.open]));
    for (const group of groups) {
      if (asked && kept.has(group)) fill(group);
      group.hidden = asked && !kept.has(group);
      group.open = asked ? kept.has(group) : before.get(group);
      const count = group.querySelector("summary > .weft-count");
      count.dataset.all ??= count.textContent;
      count.textContent = asked
        ? `${number(kept.get(group))} of ${number(all.get(group))}`
        : count.dataset.all;
    }
    for (const section of new Set(groups.map((group) => group.closest("section")))) {
      // No heading stays above nothing but groups that are hidden.
      const within = [...section.querySelectorAll(".weft-group")];
      const inner = section.matches(":has(> h2):not(:has(section))");
      section.hidden = inner && within.every((group) => group.hidden);
    }
    if (!asked) before = undefined;
    const sum = (counts) => groups.reduce((n, group) => n + (counts.get(group) ?? 0), 0);
    const total = `${number(sum(all))} rows`;
    box.querySelector("output").textContent = asked
      ? `${number(sum(kept))} of ${total}`
      : total;
  }

  const number = (count) => (count ?? 0).toLocaleString("en");

  if (box) {
    let waiting;
    field.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(filter, 120);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !field.value) return;
      event.preventDefault();
      field.value = "";
      filter();
    });
    document.addEventListener("change", ({ target }) => {
      if (target.matches(".weft-gpus > input")) filter();
    });
    if (field.value) filter(); // the browser has kept what was typed before
  }
  follow();
})();
