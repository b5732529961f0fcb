// Runs Python away from the page, so that the page stays alive and can end it.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const here = new URL("./", import.meta.url);
const indexURL = new URL("pyodide/", here).href;
const EMPTY = "data:application/zip;base64,UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==";
const START = `
import json
from weft.in_page.judging import judge

def _check(source, exercise):
    return json.dumps(judge(source, json.loads(exercise)))
`;

// What there is to load, and how much of it has come: the page says so.
let goal = { total: 0, mb: 0 };
let loaded = 0;
const plainFetch = self.fetch.bind(self);
self.fetch = async (...asked) => {
  const answer = await plainFetch(...asked);
  if (!answer.ok || !answer.body) return answer;
  const count = new TransformStream({
    transform(chunk, out) {
      loaded += chunk.byteLength;
      postMessage({ loaded: Math.min(loaded, goal.total), ...goal });
      out.enqueue(chunk);
    },
  });
  const { headers, status, statusText } = answer;
  return new Response(answer.body.pipeThrough(count), { headers, status, statusText });
};

// Pyodide's memory begins with 30 MiB, and does not grow for a larger snapshot.
function beginWith(pages) {
  for (const name of ["instantiate", "instantiateStreaming"]) {
    const plain = WebAssembly[name].bind(WebAssembly);
    WebAssembly[name] = async (...asked) => {
      const made = await plain(...asked);
      const memory = made.instance?.exports.memory;
      const now = memory?.buffer.byteLength / 65536;
      if (now < pages) memory.grow(pages - now);
      return made;
    };
  }
}

// As it was after the first checks, when the book was built: see snapshot.mjs.
async function fromSnapshot({ snapshot, lock }) {
  beginWith(snapshot.pages);
  const answer = await fetch(new URL(snapshot.name, here));
  if (!answer.ok) throw new Error(`${snapshot.name}: ${answer.status}`);
  const bytes = answer.body.pipeThrough(new DecompressionStream("gzip"));
  const python = await loadPyodide({
    indexURL,
    _loadSnapshot: new Response(bytes).arrayBuffer(),
    stdLibURL: EMPTY, // what is imported is in the snapshot
    lockFileContents: lock,
    packageBaseUrl: indexURL,
  });
  return python.globals.get("_check");
}

// Without a snapshot: Python, its library, and this course's modules.
async function fromFiles({ lock, modules }) {
  const ours = fetch(new URL(modules.name, here)).then((answer) => answer.arrayBuffer());
  const python = await loadPyodide({
    indexURL, lockFileContents: lock, packageBaseUrl: indexURL,
  });
  python.unpackArchive(new Uint8Array(await ours), "zip", { extractDir: "/course" });
  python.runPython(`import sys\nsys.path.insert(0, "/course")\n${START}`);
  return python.globals.get("_check");
}

async function load() {
  const about = await (await plainFetch(new URL("files.json", here))).json();
  if (about.snapshot) {
    // Pyodide leaves promises behind when it fails; here, failing is no error.
    const ignore = (event) => event.preventDefault();
    self.addEventListener("unhandledrejection", ignore);
    try {
      goal = about.snapshot;
      return await fromSnapshot(about);
    } catch (error) {
      console.warn(`Python's snapshot does not load: ${error}`);
    } finally {
      setTimeout(() => self.removeEventListener("unhandledrejection", ignore));
    }
  }
  goal = about.plain;
  loaded = 0;
  return fromFiles(about);
}

const ready = load().then((check) => (postMessage({ ready: true }), check));
ready.catch((error) => postMessage({ failed: String(error) }));

onmessage = async ({ data: { source, exercise } }) => {
  const check = await ready;
  try {
    postMessage({ verdict: JSON.parse(check(source, exercise)) });
  } catch (error) {
    postMessage({ failed: String(error).trim().split("\n").at(-1) });
  }
};
