// How results of the search are ordered; read by Sphinx's searchtools.js.
// A page that explains comes before a lab that uses the word, and a page that has one of
// its terms (book/search_terms.toml) within what was typed comes before those.
"use strict";

const preferred = [
  [/^book\/bugs\//, 4],
  [/^book\/\d\d_/, 6],
  [/^book\/simulator$/, 6],
  [/^labs\//, -4],
  [/^solutions\//, -40],
];
const asked = { query: null, boosts: {} };

const boosts = () => {
  const typed = new URLSearchParams(window.location.search).get("q") ?? "";
  const query = ` ${typed.toLowerCase().trim()} `;
  if (query !== asked.query) {
    asked.query = query;
    asked.boosts = {};
    const { docnames, indexentries } = Search._index;
    for (const [entry, places] of Object.entries(indexentries)) {
      if (!query.includes(` ${entry} `)) continue;
      for (const [file] of places) {
        const page = docnames[file];
        const boost = (50 * entry.length) / query.length;
        asked.boosts[page] = Math.max(asked.boosts[page] ?? 0, boost);
      }
    }
  }
  return asked.boosts;
};

var Scorer = {
  score: ([page, , , , score]) => {
    const found = preferred.find(([pattern]) => pattern.test(page));
    const boost = page === "book/glossary" ? 0 : (boosts()[page] ?? 0);
    return score + (found ? found[1] : 0) + boost;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
