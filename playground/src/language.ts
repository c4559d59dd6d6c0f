// The keys of the editors, and what they know of their languages: colours, completion, mistakes, descriptions, search. It is
// loaded after them.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, type CompletionContext, completionKeymap, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { type Diagnostic, linter } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import type { EditorState, Extension } from "@codemirror/state";
import { type EditorView, hoverTooltip, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { graphql, offsetToPos } from "cm6-graphql";
import {
  buildASTSchema,
  getNamedType,
  getVariableValues,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInputType,
  Kind,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
} from "graphql";
import { getHoverInformation } from "graphql-language-service";

/** Shows a type in the documentation, at one of its fields. */
export type ShowDocs = (type: string, field?: string) => void;

const COLOURS = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--success)" },
    { tag: [tags.keyword, tags.operatorKeyword, tags.definitionKeyword, tags.moduleKeyword], color: "var(--lane-6)" },
    { tag: [tags.propertyName, tags.function(tags.propertyName), tags.definition(tags.propertyName)], color: "var(--link)" },
    { tag: [tags.attributeName, tags.labelName], color: "var(--info)" },
    { tag: [tags.variableName, tags.special(tags.variableName)], color: "var(--lane-2)" },
    { tag: [tags.typeName, tags.className, tags.atom], color: "var(--lane-5)" },
    { tag: tags.string, color: "var(--lane-2)" },
    { tag: [tags.number, tags.integer, tags.float, tags.bool, tags.null], color: "var(--lane-5)" },
    { tag: tags.modifier, color: "var(--info)" },
  ]),
);

/** What all editors have. */
const READING: Extension = [COLOURS, bracketMatching(), codeFolding(), foldGutter(), keymap.of([...foldKeymap, ...searchKeymap, ...defaultKeymap])];

/** What those have in which something can be written. */
const WRITING: Extension = [
  keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, { key: "Tab", run: acceptCompletion }]),
  READING,
  history(),
  highlightSelectionMatches(),
  closeBrackets(),
];

/** The schema that a server describes. */
export function schemaOf(text: string): GraphQLSchema {
  return buildASTSchema(parse(text, { noLocation: true }), { assumeValid: true, assumeValidSDL: true });
}

/** The editor of queries; without a schema it knows words only. */
export function queryLanguage(schema: GraphQLSchema | undefined, onShow: ShowDocs): Extension {
  const show = (field?: string, type?: string, parent?: string) => {
    if (parent) onShow(parent, field);
    else if (type) onShow(type.replace(/[[\]!]/g, ""));
  };
  return [WRITING, autocompletion(), graphql(schema, { onShowInDocs: show }), schema ? hoverTooltip((view, at) => description(schema, view, at)) : []];
}

/** What a field, an argument or a value is, beside the pointer. */
function description(schema: GraphQLSchema, { state }: EditorView, at: number) {
  const text = String(getHoverInformation(schema, state.doc.toString(), offsetToPos(state.doc, at)));
  if (!text) return null;
  return {
    pos: at,
    create() {
      const dom = document.createElement("div");
      dom.className = "hover";
      dom.textContent = text;
      return { dom };
    },
  };
}

/** The response. */
export const RESPONSE_LANGUAGE: Extension = [READING, json()];

/** The editor of headers. */
export const HEADERS_LANGUAGE: Extension = [WRITING, autocompletion(), json(), linter(jsonMistakes)];

/** The editor of variables: those that an operation declares, which is what stands before its selection. */
export function variablesLanguage(schema: GraphQLSchema | undefined, declaration: string | undefined): Extension {
  const operation = schema && operationOf(declaration ?? "");
  if (!operation) return HEADERS_LANGUAGE;
  const types = new Map(
    operation.variableDefinitions?.flatMap(({ variable, type }) => {
      const known = typeFromAST(schema, type as never) as GraphQLInputType | undefined;
      return known && isInputType(known) ? [[variable.name.value, known] as const] : [];
    }),
  );
  return [
    WRITING,
    json(),
    linter((view) => variableMistakes(schema, operation, view)),
    autocompletion({ override: [(context) => variableCompletions(types, context)] }),
  ];
}

function operationOf(declaration: string): OperationDefinitionNode | undefined {
  try {
    const [found] = parse(`${declaration} { __typename }`).definitions;
    return found?.kind === Kind.OPERATION_DEFINITION ? found : undefined;
  } catch {
    // It is being written.
    return undefined;
  }
}

function jsonMistakes(view: EditorView): Diagnostic[] {
  return view.state.doc.toString().trim() ? jsonParseLinter()(view) : [];
}

function variableMistakes(schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode, view: EditorView): Diagnostic[] {
  const mistakes = jsonMistakes(view);
  const text = view.state.doc.toString();
  if (mistakes.length > 0 || !text.trim()) return mistakes;
  const values: unknown = JSON.parse(text);
  const whole = { from: 0, to: text.length, severity: "error" as const };
  if (typeof values !== "object" || values === null || Array.isArray(values)) return [{ ...whole, message: "Variables are an object." }];
  const declared = new Set(variableDefinitions.map(({ variable }) => variable.name.value));
  const unknown = Object.keys(values).filter((name) => !declared.has(name));
  const { errors = [] } = getVariableValues(schema, variableDefinitions, values as Record<string, unknown>, { maxErrors: 10 });
  return [
    ...unknown.map((name) => ({ ...placeOf(view.state, name), severity: "warning" as const, message: `The operation declares no variable $${name}.` })),
    ...errors.map(({ message }) => ({ ...placeOf(view.state, /\$(\w+)/.exec(message)?.[1]), severity: "error" as const, message })),
  ];
}

/** Where the value of a variable is named; everything, where it is not. */
function placeOf(state: EditorState, name: string | undefined): { from: number; to: number } {
  const top = syntaxTree(state).topNode.firstChild;
  for (const property of top?.getChildren("Property") ?? []) {
    const key = property.getChild("PropertyName");
    if (key && state.sliceDoc(key.from + 1, key.to - 1) === name) return { from: key.from, to: key.to };
  }
  return { from: 0, to: state.doc.length };
}

/** Names of variables and of the fields of their types, and values of enums. */
function variableCompletions(types: ReadonlyMap<string, GraphQLInputType>, context: CompletionContext): CompletionResult | null {
  const { state, pos } = context;
  const word = context.matchBefore(/"?\w*/);
  if (!word || (word.text === "" && !context.explicit)) return null;
  const path: string[] = [];
  let node = syntaxTree(state).resolveInner(pos, -1);
  const isValue = /:\s*"?\w*$/.test(state.sliceDoc(state.doc.lineAt(pos).from, pos));
  for (let at: typeof node | null = node; at; at = at.parent) {
    const key = at.name === "Property" ? at.getChild("PropertyName") : null;
    if (key && (isValue || pos > key.to)) path.unshift(state.sliceDoc(key.from + 1, key.to - 1));
  }
  const fields = (names: readonly string[]): ReadonlyMap<string, GraphQLInputType> => {
    let found = types;
    for (const name of names) {
      const type = found.get(name) && getNamedType(found.get(name)!);
      found = new Map(type && isInputObjectType(type) ? Object.values(type.getFields()).map((field) => [field.name, field.type]) : []);
    }
    return found;
  };
  if (isValue) {
    const type = fields(path.slice(0, -1)).get(path.at(-1) ?? "");
    const named = type && getNamedType(type);
    const values = named && isEnumType(named) ? named.getValues().map(({ name }) => `"${name}"`) : named?.name === "Boolean" ? ["true", "false"] : [];
    return values.length > 0 ? { from: word.from, to: closed(state, pos), options: values.map((label) => ({ label })) } : null;
  }
  const options = [...fields(path)].map(([name, type]) => ({ label: `"${name}"`, detail: String(type), apply: `"${name}": ` }));
  return options.length > 0 ? { from: word.from, to: closed(state, pos), options } : null;
}

/** Behind the quotation mark that was closed before anything was written between both. */
function closed(state: EditorState, pos: number): number {
  return state.sliceDoc(pos, pos + 1) === '"' ? pos + 1 : pos;
}
