// The editor of a check: CodeMirror with what these pages need of it.
// `python book/bundle_editor.py` makes editor.js of it.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration, EditorView, GutterMarker, drawSelection, gutterLineClass, highlightSpecialChars,
  keymap, lineNumbers,
} from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

const setMarks = StateEffect.define();
const noMarks = { lines: Decoration.none, gutter: RangeSet.empty };

const marker = new (class extends GutterMarker {
  elementClass = "weft-marked";
})();

function marksAt(doc, numbers) {
  const places = [...new Set(numbers)]
    .filter((number) => number >= 1 && number <= doc.lines)
    .sort((a, b) => a - b)
    .map((number) => doc.line(number).from);
  const line = Decoration.line({ class: "weft-marked" });
  return {
    lines: Decoration.set(places.map((at) => line.range(at))),
    gutter: RangeSet.of(places.map((at) => marker.range(at))),
  };
}

// Marks follow their lines while the reader types, and go with the next check.
const marks = StateField.define({
  create: () => noMarks,
  update(now, change) {
    for (const effect of change.effects)
      if (effect.is(setMarks)) return marksAt(change.state.doc, effect.value);
    if (!change.docChanged) return now;
    return { lines: now.lines.map(change.changes), gutter: now.gutter.map(change.changes) };
  },
  provide: (field) => [
    EditorView.decorations.from(field, (now) => now.lines),
    gutterLineClass.from(field, (now) => now.gutter),
  ],
});

// Tab indents for those who are writing. For those who only pass through the page by
// keyboard, and after Escape, it goes on to the next thing.
function tabs() {
  let writing = false;
  const become = (value) => () => ((writing = value), false);
  return [
    keymap.of([
      { key: "Escape", run: become(false) },
      {
        key: "Tab",
        run: (view) => writing && indentMore(view),
        shift: (view) => writing && indentLess(view),
      },
    ]),
    EditorView.domEventHandlers({
      blur: become(false),
      mousedown: become(true),
      touchstart: become(true),
      beforeinput: become(true),
    }),
  ];
}

export function makeEditor({ parent, text, label, description, onChange, onCheck }) {
  const check = () => (onCheck(), true);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), highlightSpecialChars(), drawSelection(), indentOnInput(),
        bracketMatching(), indentUnit.of("    "), EditorState.tabSize.of(4), python(),
        syntaxHighlighting(classHighlighter), marks,
        keymap.of([
          { key: "Mod-Enter", run: check }, { key: "Shift-Enter", run: check },
          ...defaultKeymap, ...historyKeymap,
        ]),
        tabs(),
        EditorView.contentAttributes.of({
          "aria-label": label, "aria-describedby": description, spellcheck: "false",
          autocapitalize: "off", autocorrect: "off", tabindex: "0",
        }),
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    mark: (lines) => view.dispatch({ effects: setMarks.of(lines) }),
    goTo(number) {
      const line = view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines));
      view.dispatch({ selection: { anchor: line.from }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
  };
}
