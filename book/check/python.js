// The one Python of a page: it is loaded at the first check, runs in a worker, and ends
// with it when a reader presses Stop; then the next one is made ready.
let worker;
let isReady = false;
let current; // the check that is running: { resolve, reject, tell }
let loaded = {}; // what a progress line says

export class Stopped extends Error {}

function begin() {
  isReady = false;
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  const mine = worker;
  const end = (error) => {
    if (mine !== worker) return;
    worker.terminate();
    worker = undefined;
    current?.reject(error);
    current = undefined;
  };
  worker.onmessage = ({ data }) => {
    if (mine !== worker) return;
    if (data.loaded) current?.tell((loaded = data));
    else if (data.ready) {
      isReady = true;
      current?.tell({ running: true });
    } else if (data.verdict) {
      current?.resolve(data.verdict);
      current = undefined;
    } else end(new Error(data.failed));
  };
  worker.onerror = (event) => end(new Error(event.message || "the worker has ended"));
}

// Returns the verdict on `source`. exercise: its JSON, once it has been loaded.
// tell: gets { running } or { loaded, total, mb }.
export function check(source, exercise, tell) {
  if (current) return Promise.reject(new Error("another check is running"));
  return new Promise((resolve, reject) => {
    current = { resolve, reject, tell };
    if (!worker) begin();
    tell(isReady ? { running: true } : loaded);
    const mine = worker;
    exercise.then(
      (text) => mine === worker && worker.postMessage({ source, exercise: text }),
      (error) => {
        if (mine !== worker) return;
        current = undefined;
        reject(error);
      },
    );
  });
}

export function stop() {
  if (!current) return;
  worker.terminate();
  const { reject } = current;
  current = undefined;
  begin(); // for the next check
  reject(new Stopped());
}
