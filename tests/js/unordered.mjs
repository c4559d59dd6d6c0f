// What introspection leaves to a server: the order of types, directives and possible types, and the order and the
// descriptions of what is built in. It is taken from one answer of the server, and graphql-js made to answer the same, so
// that all other answers can be compared as they are, whatever they are called and wherever they stand.

import { __Directive, __EnumValue, __Field, __InputValue, __Schema, __Type, isIntrospectionType, isSpecifiedDirective, isSpecifiedScalarType } from 'graphql';

/** A place for directives that graphql-js alone knows. */
const experiment = 'FRAGMENT_VARIABLE_DEFINITION';

const described = 'name description';
const inputs = `args(includeDeprecated: true) { ${described} }`;

/** The query whose answer `adoptServerOrder` takes. */
export const introspectionQuery = `{ __schema {
  types { ${described}
    fields(includeDeprecated: true) { ${described} ${inputs} }
    enumValues(includeDeprecated: true) { ${described} }
    possibleTypes { name }
  }
  directives { ${described} locations ${inputs} }
} }`;

/** Makes graphql-js answer introspection in the order and with the descriptions of a server, given the data of its answer; throws where they differ in more. */
export function adoptServerOrder(schema, { __schema: served }) {
  const unordered = new UnorderedIntrospection();
  unordered.order(schema, Object.values(schema.getTypeMap()), served.types);
  unordered.order(schema, schema.getDirectives(), served.directives);
  const named = (list, { name }) => list.find((item) => item.name === name);
  for (const type of Object.values(schema.getTypeMap())) {
    const own = named(served.types, type);
    if (own.possibleTypes) unordered.order(type, schema.getPossibleTypes(type), own.possibleTypes);
    if (!isIntrospectionType(type) && !isSpecifiedScalarType(type)) continue;
    unordered.describe(type, own);
    for (const [list, items] of [[type.getFields, own.fields], [type.getValues, own.enumValues]]) {
      if (!list) continue;
      const members = Object.values(list.call(type));
      unordered.order(type, members, items);
      for (const member of members.filter(({ name }) => name !== experiment)) {
        unordered.describe(member, named(items, member));
        if (member.args) unordered.inputs(member, named(items, member));
      }
    }
  }
  for (const directive of schema.getDirectives().filter(isSpecifiedDirective)) {
    const own = named(served.directives, directive);
    unordered.describe(directive, own);
    unordered.inputs(directive, own);
    unordered.order(directive, directive.locations, own.locations);
  }
  unordered.apply();
}

/** What introspection may order and describe as it likes, as one server does. */
class UnorderedIntrospection {
  /** Position of each item of a list, by the type, directive or schema that has the list. */
  #places = new Map();
  #descriptions = new Map();

  order(parent, own, served) {
    const name = (item) => item.name ?? item;
    const places = this.#places.get(parent) ?? new Map();
    this.#places.set(parent, places);
    const names = served.map(name);
    for (const item of own) places.set(item, names.indexOf(name(item)));
    const expected = own.map(name).filter((item) => item !== experiment);
    if (expected.sort().join() !== [...names].sort().join()) throw new Error(`${parent}: ${names}, not ${expected}`);
  }

  describe(item, { description }) {
    this.#descriptions.set(item, description);
  }

  inputs(item, { args }) {
    this.order(item, item.args, args);
    for (const own of item.args) this.describe(own, args.find(({ name }) => name === own.name));
  }

  /** Changes how graphql-js resolves introspection. */
  apply() {
    const wrap = (type, field, change) => {
      const definition = type.getFields()[field];
      const { resolve } = definition;
      definition.resolve = (source, ...others) => change(resolve(source, ...others), source);
    };
    for (const type of [__Type, __Field, __EnumValue, __InputValue, __Directive]) {
      wrap(type, 'description', (own, source) =>
        this.#descriptions.has(source) ? this.#descriptions.get(source) : own,
      );
    }
    const ordered = (own, source) => {
      const places = this.#places.get(source);
      const isKnown = (item) => item !== experiment && item.name !== experiment;
      return own && places && own.every((item) => places.has(item))
        ? own.filter(isKnown).sort((a, b) => places.get(a) - places.get(b))
        : own;
    };
    for (const field of ['types', 'directives']) wrap(__Schema, field, ordered);
    for (const field of ['fields', 'enumValues', 'possibleTypes']) wrap(__Type, field, ordered);
    for (const field of ['args', 'locations']) wrap(__Directive, field, ordered);
    wrap(__Field, 'args', ordered);
  }
}
