// node judge_in_node.mjs PYODIDE MODULES.zip ASKED.json: judge sources as a page does.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, modules, asked] = process.argv.slice(2);
const indexURL = resolve(folder) + "/";
const { loadPyodide } = await import(pathToFileURL(indexURL + "pyodide.mjs"));
const python = await loadPyodide({ indexURL });
python.unpackArchive(new Uint8Array(readFileSync(modules)), "zip", { extractDir: "/course" });
python.runPython(`
import json, sys
sys.path.insert(0, "/course")
from weft.in_page.judging import judge

def check(source, exercise):
    return json.dumps(judge(source, json.loads(exercise)))
`);
const check = python.globals.get("check");
const verdicts = JSON.parse(readFileSync(asked, "utf8")).map(({ exercise, sources }) =>
  sources.map((source) => JSON.parse(check(source, JSON.stringify(exercise)))),
);
console.log(JSON.stringify(verdicts));
