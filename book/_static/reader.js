// Where the reader is: keys that turn pages, what has been read, and where it went on.
// What has been read is kept in this browser, and sent nowhere.
"use strict";

(() => {
  const KEY = "weft-read";
  const home = new URL("..", document.currentScript.src);
  const nameOf = (address) => {
    const { origin, pathname } = new URL(address, location);
    const here = origin === home.origin && pathname.startsWith(home.pathname);
    return here ? pathname.slice(home.pathname.length).replace(/\.html$/, "") : "";
  };
  const page = nameOf(location);
  const title = () =>
    document.querySelector(".bd-article h1")?.firstChild?.textContent.trim() ?? "";

  // ---- keys --------------------------------------------------------------------

  const turns = { ArrowLeft: "a.left-prev", ArrowRight: "a.right-next" };
  for (const [key, link] of Object.entries(turns))
    for (const one of document.querySelectorAll(link))
      one.setAttribute("aria-keyshortcuts", key);
  // Of two links, to a lab and to a page to read, a screen shows one.
  const turn = (key) =>
    [...document.querySelectorAll(turns[key])].find((link) => link.checkVisibility());
  const relate = () => {
    for (const [rel, key] of [["prev", "ArrowLeft"], ["next", "ArrowRight"]]) {
      const related = document.head.querySelector(`link[rel="${rel}"]`);
      const link = turn(key);
      if (!related || !link || related.href === link.href) continue;
      related.href = link.href;
      related.title = link.querySelector(".prev-next-title").textContent;
    }
  };
  relate();
  addEventListener("resize", relate);
  // Anything else that has the focus may need the arrows: an editor, a figure, code.
  const FREE = "body, main, a, summary, [tabindex='-1']";
  addEventListener("keydown", (event) => {
    const { key, altKey, ctrlKey, metaKey, shiftKey, defaultPrevented } = event;
    if (altKey || ctrlKey || metaKey || shiftKey || defaultPrevented) return;
    const link = turns[key] && turn(key);
    if (link && document.activeElement.matches(FREE)) link.click();
  });

  // ---- what is kept ------------------------------------------------------------

  // Read anew each time: another tab may have written it.
  const load = () => {
    try {
      return { read: [], last: null, ...JSON.parse(localStorage.getItem(KEY)) };
    } catch {
      return { read: [], last: null }; // a page opened as a file may have no storage
    }
  };
  const change = (change) => {
    try {
      localStorage.setItem(KEY, JSON.stringify({ ...load(), ...change }));
    } catch {}
  };

  const links = () => document.querySelectorAll(".bd-sidebar-primary li > a");
  const mark = (link) => {
    if (link.querySelector(".weft-read")) return;
    const sign = document.createElement("span");
    sign.className = "weft-read";
    sign.innerHTML = '<span aria-hidden="true">✓</span><span class="weft-unseen">read</span>';
    link.append(" ", sign);
  };

  const markAll = () => {
    const read = new Set(load().read);
    for (const link of links()) if (read.has(nameOf(link.href))) mark(link);
  };

  function follow() {
    const end = document.querySelector(".prev-next-footer, .bd-footer-content");
    if (!end || !page.startsWith("book/") || page === "book/index") return;
    new IntersectionObserver((entries, observer) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      change({ read: [...new Set([...load().read, page])] });
      markAll();
    }).observe(end);

    if (!/^book\/\d\d_/.test(page)) return;
    const note = () => {
      const above = [...document.querySelectorAll(".bd-article section[id] > :is(h2, h3)")]
        .filter((heading) => heading.getBoundingClientRect().top < innerHeight / 2)
        .at(-1);
      const anchor = above?.parentElement.id ?? "";
      const heading = above?.firstChild.textContent.trim() ?? "";
      change({ last: { page, title: title(), anchor, heading } });
    };
    let waiting;
    addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(note, 300);
    }, { passive: true });
    note();
  }

  // On the first page: where to go on, and a way to forget it.
  function offer() {
    const lead = document.querySelector(".weft-lead");
    const { last } = load();
    if (!lead || !last) return;
    const line = document.createElement("p");
    const link = document.createElement("a");
    const forget = document.createElement("button");
    line.className = "weft-onward";
    link.href = new URL(`${last.page}.html${last.anchor && `#${last.anchor}`}`, home);
    const number = /^book\/(\d\d)_/.exec(last.page)?.[1];
    link.textContent = [number, last.title].filter(Boolean).join(" · ");
    if (last.heading) link.textContent += ` › ${last.heading}`;
    forget.type = "button";
    forget.textContent = "Forget what I read";
    forget.addEventListener("click", () => {
      try {
        localStorage.removeItem(KEY);
      } catch {}
      line.textContent = "Forgotten.";
      for (const sign of document.querySelectorAll(".weft-read")) sign.remove();
    });
    line.append("You were reading ", link, ". ", forget);
    lead.after(line);
  }

  // ---- the contents open where the reader is -----------------------------------

  const sidebar = () => document.querySelector(".bd-sidebar-primary");
  const here = () => [...(sidebar()?.querySelectorAll("li.current > a") ?? [])].at(-1);

  function show() {
    if (!here()) return;
    const [box, line] = [sidebar(), here()].map((part) => part.getBoundingClientRect());
    if (line.top < box.top || line.bottom > box.bottom)
      sidebar().scrollTop += line.top - box.top - box.height / 3;
  }

  // On a phone the theme opens them with the focus on the logo, and keeps the click.
  function enter({ target }) {
    if (!target.closest?.(".primary-toggle") || !here()) return;
    const move = () => {
      here().focus({ preventScroll: true });
      show();
    };
    sidebar().addEventListener("focusin", move, { once: true });
  }

  addEventListener("DOMContentLoaded", () => {
    offer();
    markAll();
    follow();
  });
  addEventListener("load", show); // after the theme has put it where it was
  document.addEventListener("click", enter, { capture: true });
})();
