// Where the server differs from graphql-js on purpose, or is known to: each with its reason and a way to tell it.

const first = ({ errors }) => errors?.[0]?.message ?? '';

/** The known differences. `shows` is given a request, the two answers and how they differ. */
export const gaps = [
  {
    name: 'inline manifests that are none',
    reason: 'a manifest is decoded when it is asked for, so the index takes any object for one',
    shows: ({ request, difference }) =>
      /expected .*"OpaqueProperty".*, got .*"BundleObjectProperty"/.test(difference) ||
      /oddities\.broken/.test(JSON.stringify(request.variables)),
  },
  {
    name: 'a variable that may be null for one of several inputs',
    reason:
      'the specification refuses it (IsNonNullPosition), and graphql-js 17.1 overlooks it below an argument that must not be null',
    shows: ({ theirs, ours }) =>
      /^variable `.*` cannot be used for argument `(image|name)`/.test(first(ours)) && theirs.refused !== 'validation',
  },
  {
    name: 'a condition that is null at an item of a list',
    reason: 'selections are settled once for a list and not for each of its items, so the path ends at the list',
    shows: ({ theirs, ours }) =>
      !theirs.refused &&
      /^Argument "@(skip|include)\(if:\)"/.test(first(theirs)) &&
      theirs.errors[0].path.join().startsWith(ours.errors?.[0]?.path.join()),
  },
  {
    name: 'one text in two forms',
    reason: 'a string and a block string of the same text are the same argument; graphql-js compares how they are written',
    shows: ({ request, theirs }) => /have differing arguments/.test(first(theirs)) && request.query.includes('"""'),
  },
  {
    name: 'a comma in the middle of an alias or a spread',
    reason: 'a comma means nothing anywhere; the parser does not take it behind three dots or before the colon of an alias',
    shows: ({ request, theirs, ours }) =>
      /^syntax error/.test(first(ours)) && theirs.refused !== 'parse' && /\.\.\.\s*,|,\s*:/.test(request.query),
  },
  {
    name: 'introspection of what is built in, or under other names',
    reason:
      'the order of types and the descriptions of what is built in are free; the comparison knows them by their own names alone',
    shows: ({ request, difference }) =>
      /__type\(name: "__/.test(request.query) ||
      /^at .*\/(enumValues|description):/.test(difference) ||
      (/__schema|__type\b/.test(request.query) &&
        /\w+\s*:\s*(types|directives|possibleTypes|description|enumValues|fields|inputFields|args|locations|name)\b/.test(
          request.query,
        )),
  },
];

/** Refusals for one fault that the server shows at another place than graphql-js, by its message. */
export const places = [
  {
    name: 'where a syntax error is',
    reason:
      'the parser shows the token or the construct that is broken from its beginning, graphql-js the first character that it cannot take',
    message: /^syntax error/,
  },
  {
    name: 'where a fragment is in a circle',
    reason: 'the validator shows the fragment, graphql-js the spread that closes the circle',
    message: /fragment cannot reference itself/,
  },
  {
    name: 'where a fragment is on what has no fields',
    reason: 'the validator shows the spread, graphql-js the name of the type',
    message: /^fragment `.*` with type condition|^inline fragment must have a composite type|^cannot find fragment/,
  },
  {
    name: 'where a subscription has a second field',
    reason: 'the validator shows the operation, graphql-js the second field',
    message: /^(anonymous subscription|subscription `.*`) can only have one root field/,
  },
  {
    name: 'where null is given for what must not be null',
    reason: 'the validator shows what lacks a value, graphql-js the null',
    message: /^the required (argument|field)|^expected value of type .*, found null/,
  },
  {
    name: 'where a variable is unused',
    reason: 'the validator does not look for variables below a field that there is not, and so tells of them as well',
    message: /^unused variable/,
  },
  {
    name: 'which of several faults is told',
    reason:
      'the validator tells of one fault, which may be one that graphql-js does not see: behind a second fragment of a name, or among several inputs of which one is given',
    message: /^@oneOf input object|^variable `.*` (is not defined|cannot be used for argument `(image|name)`)/,
  },
];

/** The name of the known difference that two answers to one request show, or undefined. */
export function gapOf(request, theirs, ours, { text, isPlace }) {
  if (isPlace) return places.find(({ message }) => message.test(first(ours)))?.name;
  return gaps.find(({ shows }) => shows({ request, theirs, ours, difference: text }))?.name;
}
