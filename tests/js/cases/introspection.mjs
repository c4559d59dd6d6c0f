// What the schema says of itself.

import { getIntrospectionQuery } from 'graphql';

export default {
  'the whole schema': getIntrospectionQuery(),
  'the whole schema with everything optional': getIntrospectionQuery({
    descriptions: true, specifiedByUrl: true, directiveIsRepeatable: true, schemaDescription: true, inputValueDeprecation: true, oneOf: true,
  }),
  'the whole schema without descriptions': getIntrospectionQuery({ descriptions: false }),
  'root types': `{ __schema { description queryType { name } mutationType { name } subscriptionType { name } } }`,
  'names of all types': `{ __schema { types { kind name } } }`,
  'directives': `{ __schema { directives { name description locations isRepeatable args { name type { kind name ofType { name } } defaultValue } } } }`,
  'a type that implements': `{ __type(name: "Package") { kind name interfaces { name } possibleTypes { name } enumValues { name } inputFields { name } ofType { name } } }`,
  'an interface': `{ __type(name: "Property") { kind possibleTypes { name } fields { name type { kind name ofType { name } } } } }`,
  'an enum': `{ __type(name: "ProblemSeverity") { kind enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } } }`,
  'an input object of which one is given': `{ __type(name: "CatalogRef") { kind isOneOf inputFields { name type { name } defaultValue } } other: __type(name: "MetaFilter") { isOneOf } none: __type(name: "Package") { isOneOf } }`,
  'a scalar with its specification': `{ __type(name: "JSON") { kind specifiedByURL description } int: __type(name: "Int") { specifiedByURL } }`,
  'fields with deprecated ones': `{ __type(name: "Query") { fields(includeDeprecated: true) { name isDeprecated deprecationReason args(includeDeprecated: true) { name isDeprecated } } } }`,
  'types of arguments': `{ __type(name: "Query") { fields { name args { name defaultValue type { kind name ofType { kind name ofType { kind name ofType { name } } } } } } } }`,
  'a type that does not exist': `{ __type(name: "Operator") { name } }`,
  'a type by a variable': { query: 'query ($n: String!) { __type(name: $n) { name kind } }', variables: { n: 'Meta' } },
  'a type without a name': `{ __type { name } }`,
  'the schema beside data': `{ first: catalogs { name } __schema { queryType { name } } last: __typename }`,
  'the schema in a fragment': `{ ...F catalogs { name } } fragment F on Query { s: __schema { queryType { ...T } } t: __type(name: "Node") { ...T } } fragment T on __Type { name kind }`,
  'the name of the type in introspection': `{ __schema { __typename queryType { __typename fields { __typename args { __typename } } } directives { __typename } } }`,
  'introspection that is skipped': `{ __schema @skip(if: true) { queryType { name } } __type(name: "Meta") @include(if: true) { name } }`,
  'introspection fields merge': `{ __type(name: "Meta") { name } __type(name: "Meta") { kind } }`,
  'introspection fields conflict': `{ __type(name: "Meta") { name } __type(name: "Package") { kind } }`,
  'the schema below the root': `{ catalogs { __schema { queryType { name } } } }`,
  'a field that introspection lacks': `{ __schema { queries } }`,
  'built-in types of introspection': `{ __type(name: "__Type") { name kind fields { name } } directive: __type(name: "__DirectiveLocation") { enumValues { name } } }`,
};
