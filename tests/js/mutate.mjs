// Documents made of documents: a few seeded changes each, some of which keep a document valid.

import { Kind, parse, print, TokenKind, visit, Lexer, Source } from 'graphql';
import { Num } from './json.mjs';

/** Values of every kind, for where a value stands. */
const values = [
  '0',
  '1',
  '-1',
  '2147483648',
  '1.5',
  '1e3',
  '1.0',
  '-0',
  '1e400',
  '9007199254740993',
  '"x"',
  '"\\u0000"',
  '""',
  '"""x"""',
  '"\\u{1F600}"',
  'true',
  'false',
  'null',
  'NAME',
  'DESC',
  '[]',
  '[1]',
  '["example"]',
  '[null]',
  '{}',
  '{field: NAME}',
  '{names: "relaybox"}',
  '$n',
  '$s',
  '$missing',
];
/** Values for variables. */
const given = [
  ...[null, 0, 1, '1', true, [], ['example'], {}, { image: 'x' }, 'example', 1.5, '\u0000', [null], [[1]], { name: { a: {} } }],
  ...['1.0', '1e3', '-0', '-1', '2147483647', '2147483648', '-2147483649', '9007199254740993', '1e20'].map((text) => new Num(text)),
];
const names = [
  'name',
  'id',
  'nodes',
  'first',
  'filter',
  'catalogs',
  'packages',
  'on',
  'fragment',
  'query',
  '__typename',
  'F',
  'nothing',
  'Package',
  'Catalog',
  'Node',
  'Property',
  'skip',
  'include',
  'if',
  'icon',
  'facets',
  'resolve',
  'solve',
  'updateGraph',
];
const insertions = [
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  ':',
  '!',
  '$',
  '@',
  '...',
  '=',
  '|',
  '&',
  '@skip(if: true)',
  '@include(if: false)',
  '@skip(if: $b)',
  '... on Node { id }',
  '... { __typename }',
  '__typename',
  'x: __typename',
  '...F',
  '# comment\n',
  ',',
  '\ufeff',
  '"',
  '\\',
  'é',
  '\u0000',
  '"description"',
];
const types = [
  'Int',
  'Int!',
  'String',
  'String!',
  '[String!]',
  '[String!]!',
  'ID',
  'ID!',
  'Boolean',
  'Boolean!',
  'CatalogRef',
  'PackageFilter',
  'Package',
  'Nothing',
];
const args = ['first', 'last', 'after', 'name', 'filter', 'types'];
const conditions = [
  'Query',
  'Node',
  'Catalog',
  'Package',
  'Channel',
  'Bundle',
  'Property',
  'OpaqueProperty',
  'ResolveResult',
  'String',
  'Nothing',
];

/** A request with some changes to its document, and perhaps to its variables. */
export function mutated(request, donors, random) {
  const { below, pick } = random;
  let { query, variables } = request;
  const isGentle = below(3) > 0;
  for (let left = 1 + below(3); left > 0; left -= 1) {
    query = !isGentle && below(2) === 0 ? inText(query, random) : inTree(query, pick(...donors).query, random, isGentle);
  }
  if (variables && below(4) === 0) {
    const name = pick(...Object.keys(variables), 'n');
    variables = { ...variables, [name]: pick(...given) };
  }
  return { ...request, query, variables };
}

/** Changes of the tree that mostly leave a valid document valid. */
const gentle = ['alias', 'double', 'drop', 'order', 'wrap', 'typename', 'steady', 'small', 'graft', 'extract'];

/** One change of the tokens. */
function inText(query, { below, pick }) {
  const tokens = read(query);
  if (tokens.length === 0) return pick(...insertions);
  const at = below(tokens.length);
  const { start, end, kind } = tokens[at];
  const cut = (text) => query.slice(0, start) + text + query.slice(end);
  const changes = {
    remove: () => cut(''),
    double: () => cut(`${query.slice(start, end)} ${query.slice(start, end)}`),
    swap: () => {
      const other = tokens[Math.min(at + 1, tokens.length - 1)];
      return (
        query.slice(0, start) +
        query.slice(other.start, other.end) +
        query.slice(end, other.start) +
        query.slice(start, end) +
        query.slice(other.end)
      );
    },
    replace: () => cut(kind === TokenKind.NAME ? pick(...names) : kind === TokenKind.DOLLAR ? '' : pick(...values)),
    insert: () => `${query.slice(0, start)} ${pick(...insertions)} ${query.slice(start)}`,
    truncate: () => query.slice(0, end),
  };
  return changes[pick('remove', 'double', 'swap', 'replace', 'replace', 'insert', 'insert', 'truncate')]();
}

/** The tokens up to the first that is none. */
function read(query) {
  const tokens = [];
  const lexer = new Lexer(new Source(query));
  try {
    for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) tokens.push(token);
  } catch {
    // What comes before counts.
  }
  return tokens;
}

/** One change of the tree, printed; the text as it was when it has no tree. */
function inTree(query, donor, random, isGentle) {
  let tree;
  try {
    tree = parse(query, { noLocation: true });
  } catch {
    return isGentle ? query : inText(query, random);
  }
  const { below, pick } = random;
  const one = (kind, change) => {
    let count = 0;
    visit(tree, { [kind]: { enter: () => void (count += 1) } });
    if (count === 0) return isGentle ? query : inText(query, random);
    let left = below(count);
    return print(visit(tree, { [kind]: { enter: (node) => (left-- === 0 ? change(node) : undefined) } }));
  };
  const changes = {
    alias: () => one('Field', (node) => ({ ...node, alias: name(pick('x', 'y', 'name', 'nodes')) })),
    rename: () => one('Field', (node) => ({ ...node, name: name(pick(...names)) })),
    double: () => one('SelectionSet', (node) => more(node, 'selections', pick(...node.selections))),
    drop: () => one('SelectionSet', (node) => ({ ...node, selections: node.selections.slice(1) })),
    order: () => one('SelectionSet', (node) => ({ ...node, selections: [...node.selections].reverse() })),
    leaf: () => one('Field', (node) => ({ ...node, selectionSet: undefined })),
    inline: () => one('Field', (node) => inline(below(2) ? pick(...conditions) : undefined, set(node))),
    typename: () => one('SelectionSet', (node) => more(node, 'selections', field('__typename'))),
    spread: () => one('SelectionSet', (node) => more(node, 'selections', spread(pick('F', 'G', 'A', 'B')))),
    fragment: () =>
      `${query} fragment ${pick('F', 'G')} on ${pick(...conditions)} { ${pick('id', 'name', '__typename', '...F', 'nodes { id }')} }`,
    skip: () =>
      one('Field', (node) =>
        more(node, 'directives', directive(pick('skip', 'include'), pick('true', 'false', '$b', 'null'))),
      ),
    argument: () => one('Argument', (node) => ({ ...node, value: value(pick(...values)) })),
    more: () => one('Field', (node) => more(node, 'arguments', argument(pick(...args), pick(...values)))),
    fewer: () => one('Field', (node) => ({ ...node, arguments: [] })),
    declare: () => {
      const text = `$${pick('b', 'n', 's')}: ${pick(...types)}${pick('', '', ' = 1', ' = null', ' = true')}`;
      return one('OperationDefinition', (node) => more(node, 'variableDefinitions', variable(text)));
    },
    retype: () => one('VariableDefinition', (node) => ({ ...node, type: variable(`$x: ${pick(...types)}`).type })),
    forget: () => one('VariableDefinition', () => null),
    condition: () => one('InlineFragment', (node) => ({ ...node, typeCondition: type(pick(...conditions)) })),
    wrap: () => one('SelectionSet', (node) => set(inline(undefined, node))),
    steady: () =>
      one('Field', (node) => more(node, 'directives', directive(pick('skip', 'include'), pick('true', 'false')))),
    small: () => one('IntValue', (node) => ({ ...node, value: pick('0', '1', '2', '7', '500', '501', '-1') })),
    extract: () =>
      one('OperationDefinition', (node) => ({ ...node, selectionSet: set(inline('Query', node.selectionSet)) })),
    graft: () => {
      const grafted = selections(donor);
      if (grafted.length === 0) return query;
      const added = { ...pick(...grafted), alias: name(pick('one', 'two', 'three')) };
      return one('OperationDefinition', (node) => ({ ...node, selectionSet: more(node.selectionSet, 'selections', added) }));
    },
  };
  try {
    return changes[isGentle ? pick(...gentle) : pick(...Object.keys(changes))]();
  } catch (error) {
    // The change left something that has no text, such as an operation without selections.
    if (!(error instanceof TypeError)) throw error;
    return query;
  }
}

/** A node with one item more in a list. */
const more = (node, member, item) => ({ ...node, [member]: [...(node[member] ?? []), item] });

/** What the first definition of a document asks for; nothing when it is none. */
function selections(text) {
  try {
    return operation(text).selectionSet?.selections ?? [];
  } catch {
    return [];
  }
}

const operation = (text) => parse(text, { noLocation: true }).definitions[0];
const name = (value) => ({ kind: Kind.NAME, value });
const type = (text) => ({ kind: Kind.NAMED_TYPE, name: name(text) });
const field = (text) => ({ kind: Kind.FIELD, name: name(text) });
const spread = (text) => ({ kind: Kind.FRAGMENT_SPREAD, name: name(text) });
const set = (...found) => ({ kind: Kind.SELECTION_SET, selections: found });
const inline = (condition, selectionSet) => ({
  kind: Kind.INLINE_FRAGMENT,
  typeCondition: condition && type(condition),
  selectionSet,
});
const argument = (key, text) => operation(`{ f(${key}: ${text}) }`).selectionSet.selections[0].arguments[0];
const value = (text) => argument('a', text).value;
const variable = (text) => operation(`query (${text}) { f }`).variableDefinitions[0];
const directive = (key, text) => operation(`{ f @${key}(if: ${text}) }`).selectionSet.selections[0].directives[0];
