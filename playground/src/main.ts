// The page: a small editor that works at once, and GraphiQL in its place as soon as that is loaded.

import "./small.css";

import { type Draft, endpoint, isRunKey, linkedDraft, storedDraft } from "./draft";
import { send } from "./server";
import { explorerTheme } from "./theme";
import welcome from "./welcome.graphql?raw";

const root = document.getElementById("playground")!;
const linked = linkedDraft(location.search);
let draft: Draft = linked ?? storedDraft() ?? { query: welcome, variables: "" };

const form = document.createElement("form");
form.className = "small";
const query = labelled("Query", textarea(draft.query));
const variables = labelled("Variables", textarea(draft.variables));
const run = document.createElement("button");
run.textContent = "Run";
const result = labelled("Result", textarea(""));
result.field.readOnly = true;
form.append(query.label, variables.label, run, result.label);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  void execute();
});
document.addEventListener("keydown", pressed);
root.replaceChildren(form);
const theme = explorerTheme();
if (theme) document.body.classList.add(`graphiql-${theme}`);

// What is linked in one line was written by a program.
if (linked && !linked.query.trim().includes("\n")) {
  const { prettified } = await import("./prettify");
  if (query.field.value === draft.query) {
    draft = { ...draft, query: prettified(draft.query) };
    query.field.value = draft.query;
  }
}

// What others wrote, such as the author of a link, is executed when the reader wants it; what a subscription tells is for the
// larger editor.
if (!linked && !/^\s*subscription\b/m.test(draft.query)) await execute();

// The larger editor is a hundred times as large: it comes after the first result.
const { mount } = await import("./graphiql");
const isEdited = query.field.value !== draft.query || variables.field.value !== draft.variables;
const now: Draft = { query: query.field.value, variables: variables.field.value };
document.removeEventListener("keydown", pressed);
const hadFocus = form.contains(document.activeElement);
mount(root, { draft: linked || isEdited ? now : undefined, result: isEdited ? "" : result.field.value, hadFocus, isLinked: linked !== undefined });

/** Runs the query wherever the focus is, but for what is asked in a dialog. */
function pressed(event: KeyboardEvent) {
  const isAsked = event.target instanceof Element && event.target.closest("dialog");
  if (isAsked || !isRunKey(event)) return;
  event.preventDefault();
  void execute();
}

async function execute() {
  result.field.value = "…";
  try {
    const values = variables.field.value.trim();
    const body = JSON.stringify({ query: query.field.value, variables: values ? JSON.parse(values) : undefined });
    const headers = { accept: "application/graphql-response+json", "content-type": "application/json" };
    const response = await send(endpoint(), { method: "POST", headers, body });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    result.field.value = isJson ? JSON.stringify(JSON.parse(text), null, 2) : text;
  } catch (error) {
    result.field.value = String(error);
  }
}

function textarea(text: string): HTMLTextAreaElement {
  const field = document.createElement("textarea");
  field.value = text;
  field.spellcheck = false;
  return field;
}

function labelled(name: string, field: HTMLTextAreaElement) {
  const label = document.createElement("label");
  label.className = name.toLowerCase();
  label.append(name, field);
  return { label, field };
}
