// Finds pages while the reader types, in the dialog of every page and on search.html.
// The index is Sphinx's; book/_ext/weft_book/searching.py says how it gets here.
"use strict";

(() => {
  const home = new URL("..", document.currentScript.src);
  const SHOWN = 10; // results, until more are asked for
  const PAUSE = 250; // ms without a key before excerpts are fetched
  const LENGTH = 170; // of an excerpt, in characters
  const GLOSSARY = "book/glossary";
  const preferred = [
    [/^book\/\d\d_/, 6],
    [/^book\/simulator$/, 6],
    [/^book\/bugs\//, 4],
    [/^book\/(agreement|bibliography|kill_table\w*|results|status)$/, -4],
    [/^labs\//, -4],
  ];

  // ---- the index -----------------------------------------------------------------

  const script = (name) =>
    new Promise((done, failed) => {
      const element = document.createElement("script");
      element.src = new URL(name, home);
      element.onload = done;
      element.onerror = () => failed(new Error(`${name} cannot be loaded`));
      document.head.append(element);
    });

  // A browser reads no data from a folder, and an old one does not decompress.
  const packed = location.protocol !== "file:" && "DecompressionStream" in window;

  const unpack = async (name) => {
    const answer = await fetch(new URL(`_search/${name}.bin`, home));
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    const stream = answer.body.pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  };

  const whole = async () => {
    let index = null;
    window.Search = { setIndex: (read) => (index = read) };
    await script("searchindex.js");
    return index;
  };

  let index = null;
  let loading = null;
  const load = () =>
    (loading ??= Promise.all([
      packed ? unpack("index") : whole(),
      script("_static/language_data.js"), // stopwords, Stemmer
    ]).then(([read]) => {
      index = read;
    }));

  const plain = (html) =>
    new DOMParser().parseFromString(html, "text/html").body.textContent;

  // ---- which pages, and in what order --------------------------------------------

  // The words of a query, each as typed and as Sphinx's index has it.
  const wordsOf = (query) => {
    const stemmer = new Stemmer();
    return query
      .toLowerCase()
      .split(/[^\p{Letter}\p{Number}_\p{Emoji_Presentation}]+/u)
      .filter((word) => word && !/^\d+$/.test(word) && !stopwords.includes(word))
      .map((typed) => ({ typed, stem: stemmer.stemWord(typed) }));
  };

  // The pages that have a word: number → points. A word may be the start of another,
  // as it is while it is typed; it is a part of another only if it is no start.
  const havingWord = ({ typed, stem }) => {
    const points = new Map();
    const note = (files, score) => {
      for (const file of [files ?? []].flat())
        points.set(file, Math.max(points.get(file) ?? 0, score));
    };
    const like = (fits) => {
      for (const [words, score] of [[index.terms, 2], [index.titleterms, 7]])
        for (const word of Object.keys(words)) if (fits(word)) note(words[word], score);
    };
    if (typed.length > 2) like((word) => word.startsWith(typed));
    for (const [words, score] of [[index.terms, 5], [index.titleterms, 15]])
      if (Object.hasOwn(words, stem)) note(words[stem], score);
    if (!points.size && typed.length > 2) like((word) => word.includes(typed));
    return points;
  };

  // Points for what the whole query resembles: headings, and terms of the index.
  const phrases = function* (typed) {
    const spaced = ` ${typed} `;
    for (const [title, places] of Object.entries(index.alltitles)) {
      const text = title.toLowerCase();
      if (!text.includes(typed) || typed.length < text.length / 2) continue;
      for (const [file, anchor] of places) {
        const main = index.titles[file] === title;
        const score = (15 * typed.length) / text.length + (main ? 1 : 0);
        yield { file, anchor: main ? null : anchor, heading: title, score };
      }
    }
    for (const [term, places] of Object.entries(index.indexentries)) {
      const inside = spaced.includes(` ${term} `);
      const around = ` ${term}`.includes(` ${typed}`) && typed.length >= term.length / 2;
      if (!inside && !around) continue;
      const lengths = [term.length, typed.length];
      const share = Math.min(...lengths) / Math.max(...lengths);
      for (const [file, anchor] of places) {
        if (index.docnames[file] !== GLOSSARY)
          yield { file, anchor: null, heading: "", score: (inside ? 60 : 50) * share };
        else yield { file, anchor, heading: term, score: 12 * share };
      }
    }
  };

  // Every page found, the best first: {page, title, anchor, heading}.
  const ranked = (query) => {
    const typed = query.toLowerCase().trim().replace(/\s+/g, " ");
    const words = wordsOf(query);
    const found = new Map();
    const at = (file) => {
      if (!found.has(file))
        found.set(file, { file, words: 0, score: 0, best: 0, anchor: null, heading: "" });
      return found.get(file);
    };
    for (const word of words)
      for (const [file, score] of havingWord(word)) {
        at(file).words += 1;
        at(file).score += score / words.length;
      }
    const most = Math.max(0, ...[...found.values()].map((result) => result.words));
    for (const { file, anchor, heading, score } of typed ? phrases(typed) : []) {
      const result = at(file);
      if (score <= result.best) continue;
      result.score += score - result.best;
      Object.assign(result, { anchor, heading, best: score });
    }
    for (const result of found.values()) {
      const page = index.docnames[result.file];
      result.score += preferred.find(([pattern]) => pattern.test(page))?.[1] ?? 0;
    }
    return [...found.values()]
      .filter((result) => result.words === most || result.best)
      .sort((a, b) => b.score - a.score || a.file - b.file)
      .map(({ file, anchor, heading }) => {
        const [page, title] = [index.docnames[file], plain(index.titles[file])];
        return { page, title, anchor: anchor ?? "", heading: anchor ? plain(heading) : "" };
      });
  };

  window.weftSearch = async (query) => {
    await load();
    return ranked(query);
  };

  // ---- an excerpt ----------------------------------------------------------------

  const texts = new Map(); // page → a promise of its sections
  const textOf = (page) => {
    if (!texts.has(page)) texts.set(page, unpack(page));
    return texts.get(page);
  };

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  const patternOf = (words) => {
    const starts = words.flatMap(({ typed, stem }) => [typed, stem]).map(escaped);
    return new RegExp(`(?<![\\p{L}\\p{N}])(?:${starts.join("|")})[\\p{L}\\p{N}_]*`, "giu");
  };

  // The places of words in a text, and how many different ones follow each closely.
  const placesIn = (text, words, pattern) => {
    const places = [...text.matchAll(pattern)].map((match) => ({
      start: match.index,
      word: words.findIndex(({ typed, stem }) => {
        const hit = match[0].toLowerCase();
        return hit.startsWith(typed) || hit.startsWith(stem);
      }),
    }));
    return places.map(({ start }, k) => {
      const near = places.slice(k, k + 40).filter((p) => p.start < start + LENGTH - 60);
      return { start, several: new Set(near.map((p) => p.word)).size };
    });
  };

  const excerptOf = (sections, words) => {
    const pattern = patternOf(words);
    let best = null;
    for (const [k, [anchor, heading, text]] of sections.entries()) {
      const named = new Set(heading.toLowerCase().match(pattern) ?? []).size;
      for (const { start, several } of placesIn(text, words, pattern)) {
        const score = several + named / 2;
        if (!best || score > best.score)
          best = { score, start, text, anchor, heading: k ? heading : "" };
      }
    }
    if (!best) {
      const [anchor, , text] = sections.find(([, , text]) => text) ?? ["", "", ""];
      return { anchor, heading: "", text: text.slice(0, LENGTH) + "…", pattern };
    }
    const from = best.start < 60 ? 0 : best.text.indexOf(" ", best.start - 50) + 1;
    const end = best.text.indexOf(" ", from + LENGTH);
    const cut = best.text.slice(from, end < 0 ? undefined : end);
    return { ...best, text: `${from ? "… " : ""}${cut}${end < 0 ? "" : " …"}`, pattern };
  };

  const marked = (text, pattern) => {
    const parts = document.createDocumentFragment();
    let done = 0;
    for (const match of text.matchAll(pattern)) {
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      parts.append(text.slice(done, match.index), mark);
      done = match.index + match[0].length;
    }
    parts.append(text.slice(done));
    return parts;
  };

  const showExcerpt = async (item, result, words) => {
    const { page } = result;
    const { anchor, heading, text, pattern } = excerptOf(await textOf(page), words);
    const line = item.querySelector("p");
    line.replaceChildren();
    if (heading && heading !== result.heading) {
      const link = document.createElement("a");
      link.href = new URL(`${page}.html#${anchor}`, home);
      link.textContent = heading;
      line.append(link, ": ");
    }
    line.append(marked(text, pattern));
  };

  // ---- the list ------------------------------------------------------------------

  const kindOf = (page) => {
    const number = /^book\/(\d\d)_/.exec(page)?.[1];
    return number ?? (/^book\/bugs\/(?!index)/.test(page) ? "Bug" : "");
  };

  const itemOf = ({ page, title, anchor, heading }) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.className = "weft-hit";
    link.href = new URL(`${page}.html${anchor ? `#${anchor}` : ""}`, home);
    const kind = kindOf(page);
    link.textContent = [kind, title].filter(Boolean).join(" · ");
    if (heading && heading !== title) link.append(` › ${heading}`);
    item.append(link);
    if (packed) item.append(document.createElement("p"));
    return item;
  };

  const attach = (form) => {
    const input = form.querySelector("input");
    const own = form.parentElement.querySelector("#search-results"); // of search.html
    const box = own ?? form.insertAdjacentElement("afterend", document.createElement("div"));
    const status = document.createElement("p");
    const list = document.createElement("ol");
    const more = document.createElement(own ? "button" : "a");
    box.classList.add("weft-found");
    if (!own) {
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "Results of the search");
    }
    status.setAttribute("role", "status");
    list.setAttribute("aria-label", "Pages found");
    more.hidden = true;
    more.className = "weft-more";
    box.append(status, list, more);

    let query = "";
    let words = [];
    let results = [];
    let timer = 0;
    const sight = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting) {
          sight.unobserve(target);
          const result = results[[...list.children].indexOf(target)];
          if (result) showExcerpt(target, result, words).catch(console.error);
        }
    });

    const add = (several) => {
      const items = several.map(itemOf);
      list.append(...items);
      clearTimeout(timer);
      if (packed && words.length)
        timer = setTimeout(() => items.forEach((item) => sight.observe(item)), PAUSE);
      const left = results.length - list.children.length;
      more.hidden = left <= 0;
      more.textContent = own ? `${Math.min(left, SHOWN)} more` : `All ${results.length} pages`;
      if (!own) more.href = new URL(`search.html?q=${encodeURIComponent(query)}`, home);
    };

    const say = () => {
      const count = results.length;
      if (!query) status.textContent = "";
      else if (!count) status.textContent = `No page has “${query}”.`;
      else if (count === 1) status.textContent = "1 page";
      else if (count <= SHOWN) status.textContent = `${count} pages, the best first`;
      else status.textContent = `The best ${SHOWN} of ${count} pages`;
    };

    const show = () => {
      query = input.value.trim();
      words = wordsOf(query);
      results = query ? ranked(query) : [];
      sight.disconnect();
      list.replaceChildren();
      add(results.slice(0, SHOWN));
      say();
      box.dataset.query = query;
      if (!own) return;
      const address = new URL(location);
      address.searchParams.set("q", query);
      history.replaceState(history.state, "", query ? address : location.pathname);
    };

    const update = () => {
      if (index) return show();
      if (input.value.trim()) status.textContent = "Loading the index …";
      load().then(show, () => {
        loading = null;
        status.textContent = "The index cannot be loaded.";
      });
    };

    const hits = () => [...list.querySelectorAll(".weft-hit")];
    const move = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || event.isComposing || !list.children.length) return;
      const all = [input, ...hits(), ...(more.hidden ? [] : [more])];
      const at = all.findIndex((part) => part === document.activeElement);
      if (at < 0) return;
      event.preventDefault();
      all[Math.min(Math.max(at + step, 0), all.length - 1)].focus();
    };

    input.addEventListener("focus", () => load().catch(() => (loading = null)));
    input.addEventListener("input", update);
    for (const part of [form, box]) part.addEventListener("keydown", move);
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape") input.focus();
    });
    box.addEventListener("click", (event) => {
      // The page that opens marks them: Sphinx's sphinx_highlight.js.
      if (event.target.closest("li a"))
        localStorage.setItem("sphinx_highlight_terms", words.map((w) => w.typed).join(" "));
    });
    if (own) {
      more.addEventListener("click", () => {
        const first = list.children.length;
        add(results.slice(first, first + SHOWN));
        hits()[first]?.focus();
      });
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        hits()[0]?.focus();
      });
      const asked = new URLSearchParams(location.search).get("q");
      if (asked) {
        input.value = asked;
        update();
      }
    }
  };

  addEventListener("DOMContentLoaded", () => {
    for (const form of document.querySelectorAll("form.bd-search")) attach(form);
  });
})();
