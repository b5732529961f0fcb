// Python as it is once this course's modules are imported and one check of each
// exercise has run: a worker that begins with it starts several times as fast.
//
//   node snapshot.mjs PYODIDE MODULES.zip EXERCISES.json OUT.gz
//
// `_makeSnapshot` is not a promised part of Pyodide, so worker.js can do without.
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [folder, modules, exercises, out] = process.argv.slice(2);
const indexURL = resolve(folder) + "/";
const { loadPyodide } = await import(pathToFileURL(indexURL + "pyodide.mjs"));
const python = await loadPyodide({ indexURL, _makeSnapshot: true });
python.unpackArchive(new Uint8Array(readFileSync(modules)), "zip", { extractDir: "/course" });
python.runPython(`
import json, sys
sys.path.insert(0, "/course")
from weft.in_page.judging import judge, read_tables

def _check(source, exercise):
    return json.dumps(judge(source, json.loads(exercise)))
`);
const check = python.globals.get("_check");
for (const { exercise, sources } of JSON.parse(readFileSync(exercises, "utf8")))
  for (const source of sources) check(source, JSON.stringify(exercise));
check.destroy();
python.runPython(`
import gc, linecache, tokenize, traceback
read_tables()
linecache.clearcache()
gc.collect()
`);
const snapshot = python.makeMemorySnapshot();
const packed = gzipSync(snapshot, { level: 9 });
writeFileSync(out, packed);
console.log(JSON.stringify({ bytes: snapshot.length, packed: packed.length }));
