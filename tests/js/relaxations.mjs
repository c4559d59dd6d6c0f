// Relaxed documents: what graphql-js finds once another fault, which it reported, is removed. Nodes
// keep their places in the text.

import {
  getLocation,
  getNamedType,
  isCompositeType,
  isLeafType,
  Kind,
  parse,
  print,
  Source,
  specifiedRules,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { schema } from './oracle.mjs';

/** The offset of a place that a library shows; undefined when the text has no such place. */
export function offsetOf(text, { line, column }) {
  const ends = [...text.matchAll(/\r\n|[\n\r]|$/g)];
  const start = line === 1 ? 0 : ends[line - 2]?.index + ends[line - 2]?.[0].length;
  const offset = start + column - 1;
  return offset >= start && offset <= ends[line - 1]?.index ? offset : undefined;
}

/** The nodes that begin at an offset. */
export function nodesAt(tree, offset, ...kinds) {
  const found = [];
  visit(tree, { enter: (node) => void (node.loc?.start === offset && found.push(node)) });
  return found.filter(({ kind }) => kinds.includes(kind));
}

/** All faults that graphql-js finds in a document and in its relaxations, each of which lacks some kind of fault. */
export function revealed(tree) {
  return [tree, ...withoutSeconds(tree)]
    .flatMap((one) => [one, withoutItems(one), withoutUnknown(one), withoutUnknown(withoutConditions(one)), ...withOneInput(one)])
    .flatMap((one) => validate(schema, one, specifiedRules));
}

/** The document with one fragment of each name that stands several times: with each of them once. */
function withoutSeconds(tree) {
  const fragments = tree.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const isOther = (kept) => (node) => node !== kept && node.kind === kept.kind && node.name.value === kept.name.value;
  return fragments
    .filter((kept) => fragments.some(isOther(kept)))
    .map((kept) => ({ ...tree, definitions: tree.definitions.filter((node) => !isOther(kept)(node)) }));
}

/** The document with `__typename` for fields and types that there are not or that have no fields, and without arguments that there are not. */
function withoutUnknown(tree) {
  const info = new TypeInfo(schema);
  const nothing = (node) => ({ kind: Kind.FIELD, name: { kind: Kind.NAME, value: '__typename' }, loc: node.loc });
  const Field = (node) => {
    const definition = info.getFieldDef();
    if (!definition) return info.getParentType() ? { ...nothing(node), alias: node.alias ?? node.name } : undefined;
    const isKnown = ({ name }) => definition.args.some((argument) => argument.name === name.value);
    const selectionSet = isLeafType(getNamedType(definition.type)) ? undefined : node.selectionSet;
    return { ...node, arguments: (node.arguments ?? []).filter(isKnown), selectionSet };
  };
  const InlineFragment = (node) => {
    const condition = node.typeCondition && schema.getType(node.typeCondition.name.value);
    return node.typeCondition && !isCompositeType(condition) ? nothing(node) : undefined;
  };
  const FragmentDefinition = (node) => {
    if (isCompositeType(schema.getType(node.typeCondition.name.value))) return undefined;
    return { ...node, selectionSet: { kind: Kind.SELECTION_SET, selections: [nothing(node)] } };
  };
  return visit(tree, visitWithTypeInfo(info, { Field, InlineFragment, FragmentDefinition }));
}

/** The document with empty lists alone, so that no two of them differ. */
const withoutItems = (tree) => visit(tree, { ListValue: (node) => ({ ...node, values: [] }) });

/** The document without `@skip`, `@include` and the types of inline fragments. */
function withoutConditions(tree) {
  const Directive = ({ name }) => (['skip', 'include'].includes(name.value) ? null : undefined);
  const InlineFragment = (node) => ({ ...node, typeCondition: undefined });
  return visit(tree, { Directive, InlineFragment });
}

/** The document with one field alone of inputs of which one is given: the first, or each second, and so on. */
function withOneInput(tree) {
  const only = (at) => {
    const info = new TypeInfo(schema);
    const ObjectValue = (node) =>
      isOneOf(info.getInputType()) && node.fields.length > at ? { ...node, fields: [node.fields[at]] } : undefined;
    return visit(tree, visitWithTypeInfo(info, { ObjectValue }));
  };
  return [0, 1, 2].map(only);
}

const isOneOf = (type) => Boolean(type && getNamedType(type).isOneOf);

/** The variables that may be null and are given, at an offset, for one of several inputs: their names. */
export function nullableForOne(tree, offset) {
  const info = new TypeInfo(schema);
  const found = [];
  const Variable = (node, key, parent, path, ancestors) => {
    const object = ancestors.at(-2);
    const isGiven = parent.kind === Kind.OBJECT_FIELD && object?.kind === Kind.OBJECT && isOneOf(info.getParentInputType());
    if (node.loc.start === offset && isGiven) found.push(node.name.value);
  };
  visit(tree, visitWithTypeInfo(info, { Variable }));
  const definitions = tree.definitions.flatMap((node) => node.variableDefinitions ?? []);
  return found.filter((name) => definitions.some((node) => node.variable.name.value === name && mayBeNull(node)));
}

const mayBeNull = ({ type, defaultValue }) =>
  type.kind !== Kind.NON_NULL_TYPE && (!defaultValue || defaultValue.kind === Kind.NULL);

/** The text with variables of these names that must not be null. */
export function withRequired(query, names) {
  const VariableDefinition = (node) =>
    names.includes(node.variable.name.value) && mayBeNull(node)
      ? { ...node, type: { kind: Kind.NON_NULL_TYPE, type: node.type }, defaultValue: undefined }
      : undefined;
  return print(visit(parse(query), { VariableDefinition }));
}

/** The text with every block string as a plain one. */
export function withoutBlocks(query) {
  return print(visit(parse(query), { StringValue: (node) => ({ ...node, block: false }) }));
}

/**
 * The text with values for names that have none and with something in empty selections, one after the other, up to a
 * place: each with the place where that is then and what graphql-js says of it.
 */
export function withValues(query, place) {
  const found = [];
  let [text, own] = [query, offsetOf(query, place)];
  for (let left = 20; left > 0; left -= 1) {
    const error = errorOf(text);
    if (!error) break;
    found.push({ query: text, place: placeOf(text, own), locations: error.locations, message: error.message });
    const missing = /Expected ":"/.test(error.message) ? ': 0 ' : /Expected Name, found "}"/.test(error.message) ? 'x ' : '';
    const [at] = error.positions;
    if (!missing || at > own) break;
    text = text.slice(0, at) + missing + text.slice(at);
    own += missing.length;
  }
  return found;
}

function errorOf(text) {
  try {
    parse(text, { allowEmptySelectionSets: false });
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The place of an offset as a library shows it. */
function placeOf(text, offset) {
  const { line, column } = getLocation(new Source(text), offset);
  return { line, column };
}
