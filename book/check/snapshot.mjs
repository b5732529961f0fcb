// Python as it is once this course's modules are imported and some checks have run: a
// worker that begins with it starts several times as fast. It has no files afterwards,
// so what a check may import is imported here.
//
//   node snapshot.mjs PYODIDE MODULES.zip FIRST.json OUT.gz
//
// `_makeSnapshot` is not a promised part of Pyodide, so worker.js can do without.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [folder, modules, first, out] = process.argv.slice(2);
const indexURL = resolve(folder) + "/";
const { loadPyodide } = await import(pathToFileURL(indexURL + "pyodide.mjs"));
const python = await loadPyodide({ indexURL, _makeSnapshot: true });
python.unpackArchive(new Uint8Array(readFileSync(modules)), "zip", { extractDir: "/course" });
python.runPython(`
import json, sys
sys.path.insert(0, "/course")
from weft.in_page.judging import judge, read_files

def _check(source, exercise):
    return json.dumps(judge(source, json.loads(exercise)))
`);
const check = python.globals.get("_check");
const { imports, checks } = JSON.parse(readFileSync(first, "utf8"));
for (const { exercise, sources } of checks)
  for (const source of sources) check(source, JSON.stringify(exercise));
check.destroy();
const load = python.runPython(`
from contextlib import suppress
from importlib import import_module

def load(names):
    for name in names.split():
        with suppress(ImportError):  # another version of Python
            import_module(name)
load
`);
load([...imports, "_ast_unparse"].join(" ")); // which `ast` imports late
load.destroy();
python.runPython(`
import gc, linecache, tokenize, traceback
linecache.clearcache()
read_files()
gc.collect()
`);
clean(python._module);
const snapshot = python.makeMemorySnapshot();
const packed = gzipSync(snapshot, { level: 9 });
writeFileSync(out, packed);
console.log(JSON.stringify({ bytes: snapshot.length, packed: packed.length }));

// Fill what is free with zeros, which take no room on the way to a reader.
function clean(module) {
  const end = module.HEAPU8.length;
  const taken = [];
  for (let size = 1 << 22; size >= 256; size >>= 1)
    while (module._sbrk(0) + 2 * size < end) {
      const at = module._malloc(size);
      module.HEAPU8.fill(0, at, at + size);
      taken.push(at);
    }
  for (const at of taken) module._free(at);
}
