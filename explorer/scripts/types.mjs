// Writes `src/generated`: the text and the exact types of every operation in `src/documents`. Each has a file of its own, so
// that a page loads the documents that it uses; `documents.ts` names them all. `dist/documents.json` has the documents as they
// are sent, by their digests: servers that execute trusted documents only trust these.
//
// Two arguments name other folders, of documents and for their types: that is how clients/typescript is made.
//
// A file holds one operation, or fragments that operations share. Nothing is written unless every document is valid.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  buildSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  print,
  Source,
  typeFromAST,
  validate,
  visit,
} from "graphql";

import { minified } from "../src/minified.mjs";

const EXPLORER = resolve(import.meta.dirname, "..");
const SCHEMA = join(EXPLORER, "../schema.graphql");
const [DOCUMENTS = join(EXPLORER, "src/documents"), OUTPUT = join(EXPLORER, "src/generated")] = process.argv.slice(2);
const TRUSTED = join(EXPLORER, "dist/documents.json");

/** TypeScript types of scalars as they come in JSON; those that are not here are texts. */
const SCALARS = /** @type {Record<string, string>} */ ({
  Boolean: "boolean",
  Float: "number",
  Int: "number",
  JSON: "unknown",
});

const schema = buildSchema(readFileSync(SCHEMA, "utf8"));
const { operations, fragments } = readDocuments();

/** Enums and inputs that the documents use. @type {Map<string, string>} */
const named = new Map();
const bodies = new Map([...operations].map(([name, node]) => [name, operationBlock(node)]));
const shared = [...fragments.values()].map(fragmentBlock);
rmSync(OUTPUT, { recursive: true, force: true });
mkdirSync(OUTPUT, { recursive: true });
write("types", [...[...named.values()].sort(), ...shared]);
for (const [name, body] of bodies) {
  const used = [...named.keys()].filter((type) => uses(body, type)).sort();
  const imports = ['import type { Document } from "../client";'];
  if (used.length > 0) imports.push(`import type { ${used.join(", ")} } from "./types";`);
  write(name, [imports.join("\n"), body]);
}
write("documents", [['export * from "./types";', ...[...bodies.keys()].sort().map((name) => `export * from "./${name}";`)].join("\n")]);

const sent = [...operations.values()].map((node) => minified(print(document(node, fragments))));
const trusted = sent.map((text) => [createHash("sha256").update(text).digest("hex"), text]);
if (process.argv.length === 2) writeFileSync(TRUSTED, `${JSON.stringify(Object.fromEntries(trusted), null, 2)}\n`);

/**
 * Writes a file of TypeScript.
 *
 * @param {string} name
 * @param {string[]} parts
 */
function write(name, parts) {
  const head = "// Made by scripts/types.mjs from src/documents and schema.graphql; do not edit.";
  writeFileSync(join(OUTPUT, `${name}.ts`), `${[head, ...parts].join("\n\n")}\n`);
}

/**
 * Whether a text uses a type.
 *
 * @param {string} text
 * @param {string} type
 */
function uses(text, type) {
  return new RegExp(`\\b${type}\\b`).test(text);
}

/** Every operation and every fragment by name. Ends the program unless all are valid. */
function readDocuments() {
  /** @type {Map<string, import("graphql").OperationDefinitionNode>} */
  const operations = new Map();
  /** @type {Map<string, import("graphql").FragmentDefinitionNode>} */
  const fragments = new Map();
  for (const file of readdirSync(DOCUMENTS).filter((name) => name.endsWith(".graphql"))) {
    for (const node of parse(new Source(readFileSync(join(DOCUMENTS, file), "utf8"), file)).definitions) {
      if (node.kind === Kind.OPERATION_DEFINITION && node.name) operations.set(node.name.value, node);
      else if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
      else throw new Error(`${file}: only named operations and fragments can be used here`);
    }
  }
  const errors = [...operations.values()].flatMap((node) => validate(schema, document(node, fragments)));
  for (const error of errors) console.error(`${error.source?.name ?? ""}: ${error}`);
  if (errors.length > 0) process.exit(1);
  return { operations, fragments };
}

/**
 * An operation with the fragments that it reaches.
 *
 * @param {import("graphql").OperationDefinitionNode} operation
 * @param {Map<string, import("graphql").FragmentDefinitionNode>} fragments
 * @returns {import("graphql").DocumentNode}
 */
function document(operation, fragments) {
  /** @type {Set<import("graphql").DefinitionNode>} */
  const definitions = new Set([operation]);
  for (const definition of definitions) {
    visit(definition, {
      FragmentSpread({ name }) {
        const fragment = fragments.get(name.value);
        if (fragment) definitions.add(fragment);
      },
    });
  }
  return { kind: Kind.DOCUMENT, definitions: [...definitions] };
}

/** @param {import("graphql").OperationDefinitionNode} operation */
function operationBlock(operation) {
  const name = operation.name?.value ?? "";
  const root = schema.getRootType(operation.operation);
  if (!root) throw new Error(`${name}: the schema has no ${operation.operation}`);
  const text = print(document(operation, fragments));
  // The client removes spaces by a rule that knows nothing of strings.
  if (print(parse(minified(text))) !== text) throw new Error(`${name}: spaces within a string of a document`);
  const variables = (operation.variableDefinitions ?? []).map(({ variable, type, defaultValue }) => {
    const input = typeFromAST(schema, /** @type {any} */ (type));
    return member(variable.name.value, input, defaultValue !== undefined);
  });
  return [
    `export type ${name}Variables = {${variables.length > 0 ? ` ${variables.join("; ")} ` : ""}};`,
    `export type ${name}Data = ${shape(root, [operation.selectionSet])};`,
    `export const ${name}: Document<${name}Data, ${name}Variables> = {`,
    `  name: ${JSON.stringify(name)},`,
    `  text: ${JSON.stringify(text)},`,
    "};",
  ].join("\n");
}

/** @param {import("graphql").FragmentDefinitionNode} fragment */
function fragmentBlock(fragment) {
  const type = schema.getType(fragment.typeCondition.name.value);
  return `export type ${fragment.name.value} = ${shape(/** @type {any} */ (type), [fragment.selectionSet])};`;
}

/**
 * A member of an input or of variables, which may be left out when it may be null or has a default.
 *
 * @param {string} name
 * @param {any} type
 * @param {boolean} hasDefault
 */
function member(name, type, hasDefault) {
  const isOptional = hasDefault || !isNonNullType(type);
  return `${name}${isOptional ? "?" : ""}: ${inputType(type)}${isOptional ? " | undefined" : ""}`;
}

/**
 * The type of a value that is sent.
 *
 * @param {any} type
 * @returns {string}
 */
function inputType(type) {
  if (isNonNullType(type)) return inputValue(type.ofType);
  return `${inputValue(type)} | null`;
}

/** @param {any} type @returns {string} */
function inputValue(type) {
  if (isListType(type)) return `readonly ${parenthesized(inputType(type.ofType))}[]`;
  if (isInputObjectType(type)) return inputObject(type);
  return leaf(type);
}

/** @param {import("graphql").GraphQLInputObjectType} type */
function inputObject(type) {
  if (!named.has(type.name)) {
    named.set(type.name, "");
    const fields = Object.values(type.getFields());
    const text = type.isOneOf
      ? fields.map((field) => oneOf(field, fields)).join(" | ")
      : `{ ${fields.map((field) => member(field.name, field.type, field.defaultValue !== undefined)).join("; ")} }`;
    named.set(type.name, `export type ${type.name} = ${text};`);
  }
  return type.name;
}

/**
 * One form of a `@oneOf` input: a field that is given, and the others that are not.
 *
 * @param {import("graphql").GraphQLInputField} field
 * @param {import("graphql").GraphQLInputField[]} fields
 */
function oneOf(field, fields) {
  const others = fields.filter((other) => other !== field).map((other) => `; ${other.name}?: never`);
  return `{ ${field.name}: ${inputValue(getNullable(field.type))}${others.join("")} }`;
}

/** @param {any} type */
function getNullable(type) {
  return isNonNullType(type) ? type.ofType : type;
}

/** @param {any} type */
function leaf(type) {
  if (!isEnumType(type)) return SCALARS[type.name] ?? "string";
  const values = type.getValues().map(({ name }) => JSON.stringify(name));
  named.set(type.name, `export type ${type.name} = ${values.join(" | ")};`);
  return type.name;
}

/**
 * The type of what selection sets select of a type: an object, or a union of objects.
 *
 * @param {any} type
 * @param {import("graphql").SelectionSetNode[]} sets
 * @returns {string}
 */
function shape(type, sets) {
  const objects = isAbstractType(type) ? schema.getPossibleTypes(type) : [type];
  /** Names of the types that have the same members. @type {Map<string, string[]>} */
  const shapes = new Map();
  let typename = "";
  for (const object of objects) {
    const fields = collect(object, sets, new Map());
    typename ||= [...fields].find(([, { name }]) => name === "__typename")?.[0] ?? "";
    const members = [...fields].filter(([, { name }]) => name !== "__typename").map(([key, field]) => outputMember(object, key, field));
    const text = members.join("; ");
    shapes.set(text, [...(shapes.get(text) ?? []), object.name]);
  }
  const forms = [...shapes].map(([text, names]) => {
    const own = typename && `${typename}: ${names.map((name) => JSON.stringify(name)).join(" | ")}`;
    return `{ ${[own, text].filter(Boolean).join("; ")} }`;
  });
  return forms.join(" | ");
}

/**
 * @typedef {{ name: string, sets: import("graphql").SelectionSetNode[], isOptional: boolean }} Field
 *
 * The fields that are selected of an object, by the key of the response.
 *
 * @param {import("graphql").GraphQLObjectType} object
 * @param {readonly import("graphql").SelectionSetNode[]} sets
 * @param {Map<string, Field>} fields
 * @param {boolean} isOptional Whether a directive may leave them out.
 */
function collect(object, sets, fields, isOptional = false) {
  for (const selection of sets.flatMap((set) => set.selections)) {
    const optional = isOptional || (selection.directives?.length ?? 0) > 0;
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      const field = fields.get(key) ?? { name: selection.name.value, sets: [], isOptional: true };
      field.isOptional &&= optional;
      if (selection.selectionSet) field.sets.push(selection.selectionSet);
      fields.set(key, field);
      continue;
    }
    const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
    const condition = fragment?.typeCondition?.name.value;
    if (fragment && (!condition || applies(object, condition))) collect(object, [fragment.selectionSet], fields, optional);
  }
  return fields;
}

/**
 * @param {import("graphql").GraphQLObjectType} object
 * @param {string} condition
 */
function applies(object, condition) {
  const type = schema.getType(condition);
  return type === object || (isAbstractType(type) && schema.isSubType(type, object));
}

/**
 * @param {import("graphql").GraphQLObjectType} object
 * @param {string} key
 * @param {Field} field
 */
function outputMember(object, key, { name, sets, isOptional }) {
  const type = object.getFields()[name]?.type;
  return `${key}${isOptional ? "?" : ""}: ${outputType(type, sets)}`;
}

/**
 * @param {any} type
 * @param {import("graphql").SelectionSetNode[]} sets
 * @returns {string}
 */
function outputType(type, sets) {
  if (isNonNullType(type)) return outputValue(type.ofType, sets);
  return `${outputValue(type, sets)} | null`;
}

/**
 * @param {any} type
 * @param {import("graphql").SelectionSetNode[]} sets
 * @returns {string}
 */
function outputValue(type, sets) {
  if (isListType(type)) return `${parenthesized(outputType(type.ofType, sets))}[]`;
  const inner = getNamedType(type);
  if (isLeafType(inner)) return leaf(inner);
  const text = shape(inner, sets);
  return isObjectType(inner) ? text : parenthesized(text);
}

/** @param {string} text */
function parenthesized(text) {
  return /[|]/.test(text.replace(/\{.*\}/s, "")) || text.includes("} | {") ? `(${text})` : text;
}
