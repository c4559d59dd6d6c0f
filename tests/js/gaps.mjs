// Where the server differs from graphql-js on purpose, or is known to: each with its reason and a way to tell it that
// lets nothing else pass.

import { Kind, Lexer, parse, Source, TokenKind, visit } from 'graphql';
import { nodesAt, nullableForOne, offsetOf, revealed, withoutBlocks, withRequired, withValues } from './relaxations.mjs';

const first = ({ errors }) => errors?.[0]?.message ?? '';
const offsets = ({ query, tree }, kinds, place) => nodesAt(tree, offsetOf(query, place), ...kinds);

/**
 * The known differences of answers. `shows` is given the request, the two answers, `again`, which says whether a
 * changed request is answered as graphql-js answers it, `like`, which says whether the answer is as another one of
 * graphql-js, `answer`, which gives that to a changed request, and `asServed`, over a model that takes any object for a
 * manifest.
 */
export const gaps = [
  {
    name: 'inline manifests that are none',
    reason: 'a manifest is decoded when it is asked for, so the index takes any object for one',
    shows: ({ like, asServed }) => like(asServed()),
  },
  {
    name: 'a variable that may be null for one of several inputs',
    reason:
      'the specification refuses it (IsNonNullPosition), and graphql-js 17.1 overlooks it below an argument that must not be null',
    shows: ({ request, theirs, ours, again }) => {
      if (theirs.refused === 'parse' || !/^variable `.*` of type .* cannot be used for argument/.test(first(ours))) return false;
      const [{ extensions, locations }] = ours.errors;
      const names = nullableForOne(parse(request.query), offsetOf(request.query, locations[0]));
      if (extensions.code !== 'GRAPHQL_VALIDATION_FAILED') return false;
      return names.length > 0 && again({ query: withRequired(request.query, names) });
    },
  },
  {
    name: 'one text in two forms',
    reason: 'a string and a block string of the same text are the same argument; graphql-js compares how they are written',
    shows: ({ request, theirs, like, answer }) =>
      theirs.refused === 'validation' &&
      theirs.errors.every(({ message }) => /have differing arguments/.test(message)) &&
      request.query.includes('"""') &&
      like(answer({ query: withoutBlocks(request.query) })),
  },
  {
    name: 'a condition that is null within introspection',
    reason: 'introspection is one value, which is there or not, so the path ends where it begins',
    shows: ({ request, theirs, like }) => {
      if (theirs.refused) return false;
      const isOne = ({ message, path }) => /^Argument "@(skip|include)\(if:\)" has invalid value/.test(message) && path?.length > 1;
      const their = theirs.errors?.find(isOne);
      const field = their && introspection(parse(request.query), their.path[0]);
      if (!field) return false;
      const [key] = their.path;
      const data = field === '__schema' ? null : theirs.data && { ...theirs.data, [key]: null };
      const others = theirs.errors.filter(({ path }) => path?.[0] !== key);
      return like({ ...theirs, data, errors: [...others, { ...their, path: [key] }] });
    },
  },
];

/** Refusals for one fault that the server shows at another place than graphql-js, by its message. */
export const places = [
  {
    name: 'where a syntax error is',
    reason:
      'the parser shows the token or the construct that is broken from its beginning, graphql-js the first character that it cannot take',
    message: /^syntax error/,
    shows: ({ query, place, theirs: [{ locations, message }] }) => {
      const isNear = ({ query, place, locations: [their], message }) => {
        const [own, other] = [place, their].map((one) => tokenAt(query, offsetOf(query, one)));
        // The parser misses a dollar up to three tokens late: behind what would be the name, the colon and the type.
        return other - 1 <= own && own <= other + (/^Syntax Error: Expected "\$"/.test(message) ? 3 : 0);
      };
      return [{ query, place, locations, message }, ...withValues(query, place)].some(isNear);
    },
  },
  {
    name: 'where a fragment is in a circle',
    reason: 'the validator shows the fragment, graphql-js the spread that closes the circle',
    message: /^`(.*)` fragment cannot reference itself/,
    shows: ({ match: [, name], theirs, ...at }) =>
      offsets(at, [Kind.FRAGMENT_DEFINITION], at.place).some((node) => node.name.value === name) &&
      theirs.some(({ message }) => /^Cannot spread fragment /.test(message) && message.includes(`"${name}"`)),
  },
  {
    name: 'where a fragment is on what has no fields',
    reason: 'the validator shows the fragment, graphql-js the name of the type',
    message: /^(fragment `.*`|inline fragment) must have a composite type/,
    shows: ({ theirs, ...at }) =>
      offsets(at, [Kind.FRAGMENT_DEFINITION, Kind.INLINE_FRAGMENT], at.place).some(({ typeCondition }) =>
        has(theirs, /cannot condition on non composite type/, typeCondition),
      ),
  },
  {
    name: 'where a subscription has a second field',
    reason: 'the validator shows the operation, graphql-js the second field',
    message: /^(?:anonymous subscription|subscription `(.*)`) can only have one root field/,
    shows: ({ match: [, name], theirs, ...at }) => {
      const of = name === undefined ? 'Anonymous Subscription' : `Subscription "${name}"`;
      return (
        offsets(at, [Kind.OPERATION_DEFINITION], at.place).some((node) => node.name?.value === name) &&
        theirs.some(({ message }) => message.startsWith(`${of} must select only one top level field`))
      );
    },
  },
  {
    name: 'where null is given for what must not be null',
    reason: 'the validator shows what lacks a value, graphql-js the null',
    message: /^the required (?:argument|field) `.*?(\w+)(?::\))?` is not provided/,
    shows: ({ match: [, name], theirs, ...at }) =>
      offsets(at, [Kind.FIELD, Kind.DIRECTIVE, Kind.OBJECT], at.place).some((node) => {
        const given = (node.arguments ?? node.fields).filter((item) => item.name.value === name);
        return given.some(({ value }) => value.kind === Kind.NULL && has(theirs, /^Expected value of non-null type/, value));
      }),
  },
  {
    name: 'where one of several inputs is null',
    reason: 'the validator shows the null, graphql-js the object that it is in',
    message: /^expected value of type .*, found null/,
    shows: ({ theirs, query, tree, place }) => {
      const at = offsetOf(query, place);
      const isAround = ({ start, end }) => start < at && at < end;
      return theirs.some(
        ({ message, locations: [their] }) =>
          /^Within OneOf Input Object/.test(message) &&
          nodesAt(tree, offsetOf(query, their), Kind.OBJECT).some(({ loc }) => isAround(loc)),
      );
    },
  },
];

/** Faults that one library may tell of and the other not, because it stops looking behind another one. */
export const others = {
  name: 'which of several faults is told',
  reason:
    'each library stops looking behind some faults: a field, an argument or a type that there is not, a second fragment of a name, a condition at the root of a subscription, a second one of several inputs, lists that differ',
  faults: [
    [/^unused variable: `\$(.*)`/, (name) => `Variable "$${name}" is never used`],
    [/^variable `\$(.*)` is not defined/, (name) => `Variable "$${name}" is not defined`],
    [/^variable `\$(.*)` of type .* cannot be used/, (name) => `Variable "$${name}" of type`],
    [/can not have an introspection field as a root field/, () => 'ubscription must not select an introspection'],
    [/^@oneOf input object/, () => 'Within OneOf Input Object'],
    [/^fragment `(.*)` with type condition /, (name) => `Fragment "${name}" cannot be spread here`],
    [/^operation must not (provide|select) |^cannot select different fields into the same alias/, () => ' conflict because '],
  ],
};

/** The name of the known difference that two answers to one request show, or undefined. */
export async function gapOf({ request, theirs, ours, found, ...more }) {
  if (found.isFault) return undefined;
  if (found.isPlace) return placeOf(request, theirs, ours)?.name;
  for (const { name, shows } of gaps) {
    if (await shows({ request, theirs, ours, ...more })) return name;
  }
  return undefined;
}

function placeOf({ query }, { refused, errors }, ours) {
  const place = ours.errors[0].locations?.[0];
  if (!place || offsetOf(query, place) === undefined) return undefined;
  const tree = refused === 'parse' ? undefined : parse(query);
  const of = (theirs) =>
    places.find(({ message, shows }) => {
      const match = message.exec(first(ours));
      return match && shows({ match, query, tree, place, theirs });
    });
  const known = of(errors);
  if (known || !tree) return known;
  return isRevealed(tree, query, place, first(ours)) || of(revealed(tree)) ? others : undefined;
}

/** Whether graphql-js reports the same fault once another one is removed, or would have to. */
function isRevealed(tree, query, place, text) {
  const isHere = ({ line, column }) => line === place.line && column === place.column;
  return others.faults.some(([message, expected]) => {
    const match = message.exec(text);
    if (!match) return false;
    const isTold = (error) => error.message.includes(expected(match[1])) && error.locations?.some(isHere);
    return nullableForOne(tree, offsetOf(query, place)).includes(match[1]) || revealed(tree).some(isTold);
  });
}

/** Whether graphql-js found such a fault where a node begins. */
const has = (theirs, pattern, { loc }) =>
  theirs.some(({ message, locations }) => {
    const { line, column } = loc.startToken;
    return pattern.test(message) && locations?.some((place) => place.line === line && place.column === column);
  });

/** How many tokens begin at or before an offset; what is no token ends the count. */
function tokenAt(query, offset) {
  const lexer = new Lexer(new Source(query));
  let count = 0;
  try {
    while (lexer.lookahead().start <= offset && lexer.token.kind !== TokenKind.EOF) {
      lexer.advance();
      count += 1;
    }
  } catch ({ positions: [start] }) {
    // What cannot be read begins behind the last token.
    return count + (start <= offset || lexer.token.end <= offset ? 1 : 0);
  }
  return count;
}

/** The name of the field for introspection that has this key, if one has. */
function introspection(tree, key) {
  let found;
  const Field = ({ alias, name }) => {
    if ((alias ?? name).value === key && ['__schema', '__type'].includes(name.value)) found = name.value;
  };
  visit(tree, { Field });
  return found;
}
