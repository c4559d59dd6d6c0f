// An editor that can be written in at once. Its keys and what knows the language come later, as an extension.

import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface EditorProps {
  label: string;
  value: string;
  /** Absent where nothing can be written. */
  onChange?: (text: string) => void;
  /** Gets where the cursor is after it moved. */
  onCursor?: (offset: number) => void;
  /** What knows the language, once it is there. */
  extension: Extension | undefined;
  hasFocus?: boolean;
}

const LOOK = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--text)" },
  ".cm-gutters": { border: "0", background: "none", color: "var(--subtle)" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--selected)" },
  ".cm-tooltip": { border: "1px solid var(--edge)", borderRadius: "4px", background: "var(--raised)", color: "var(--text)", fontSize: "13px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--selected)", color: "var(--text)" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-completionMatchedText": { color: "var(--link)", textDecoration: "none" },
  ".cm-completionDetail": { color: "var(--subtle)", fontStyle: "normal" },
  ".cm-completionInfo": { maxWidth: "360px", padding: "8px", whiteSpace: "pre-wrap" },
  ".cm-panels": { background: "var(--sunken)", color: "var(--text)" },
  ".cm-panel :is(input, button)": { border: "1px solid var(--edge)", background: "var(--surface)", color: "var(--text)" },
  ".cm-foldPlaceholder": { border: "0", background: "var(--hover)", color: "var(--subtle)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  ".cm-selectionMatch": { background: "var(--selected)" },
});

export function Editor({ label, value, onChange, onCursor, extension, hasFocus }: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const language = useRef(new Compartment());
  // The view outlives what a component is given when it is rendered.
  const told = useRef({ onChange, onCursor });
  told.current = { onChange, onCursor };

  useLayoutEffect(() => {
    const made = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          onChange ? lineNumbers() : [EditorState.readOnly.of(true), EditorView.editable.of(false)],
          language.current.of([]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", ...(!onChange && { "aria-readonly": "true" }) }),
          EditorView.updateListener.of(({ docChanged, selectionSet, state }) => {
            if (docChanged) told.current.onChange?.(state.doc.toString());
            if (docChanged || selectionSet) told.current.onCursor?.(state.selection.main.head);
          }),
          LOOK,
        ],
      }),
    });
    view.current = made;
    if (hasFocus) made.focus();
    return () => made.destroy();
  }, []);

  // What others changed: an example, the query builder, the server.
  useLayoutEffect(() => {
    const { state } = view.current!;
    if (state.doc.toString() !== value) view.current!.dispatch({ changes: { from: 0, to: state.doc.length, insert: value } });
  }, [value]);

  useEffect(() => {
    if (extension) view.current!.dispatch({ effects: language.current.reconfigure(extension) });
  }, [extension]);

  return <div ref={place} class="editor" />;
}
