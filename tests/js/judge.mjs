// Holds answers of the server to those of graphql-js.
//
// What counts: whether and in which phase a request is refused, data down to the order of keys and the digits of
// numbers, and the path, code and place of each error. Texts are each library's own, but for those about values that do
// not have their types: the server says of them what graphql-js says.

import { gapOf } from './gaps.mjs';
import { parseAt, print } from './json.mjs';
import { Placeholders } from './placeholders.mjs';

const phases = {
  GRAPHQL_PARSE_FAILED: 'parse',
  GRAPHQL_VALIDATION_FAILED: 'validation',
  OPERATION_RESOLUTION_FAILURE: 'operation',
  BAD_USER_INPUT: 'variables',
};

const at = ({ line, column }) => `${line}:${column}`;

/** A text about a value, without suggestions and with numbers as JavaScript writes them; nothing of another text. */
function comparableMessage(message) {
  if (!/^(Variable|Argument) ".*" has invalid value/.test(message)) return '';
  return message
    .replace(/\. Did you mean [^?]*\? Found:/, ', found:')
    .replace(/ Did you mean [^?]*\?$/, '')
    .replace(/-?\d+(\.\d+)?([eE][+-]?\d+)?/g, (number) => String(Number(number)));
}

/** What stands for a limit that is fixed; graphql-js has no such answer. */
const limited = (answer) =>
  /^(MAX_|COST_|RESPONSE_|TIMEOUT)/.test(answer.errors?.[0]?.extensions?.code ?? '') ||
  /nested more than/.test(answer.errors?.[0]?.message ?? '');

/** The text of an answer without names that may have been meant, of which graphql-js knows nothing: its last member. */
function withoutSuggestions(text) {
  const { extensions, ...rest } = JSON.parse(text);
  const isSuggestion = ({ path, argument, value, similar, ...more }) =>
    Array.isArray(path) &&
    [argument, value, ...similar].every((name) => typeof name === 'string') &&
    [1, 2, 3].includes(similar.length) &&
    Object.keys(more).length === 0;
  if (Object.keys(extensions ?? {}).join() !== 'suggestions' || !extensions.suggestions.every(isSuggestion)) return text;
  const others = text.slice(0, text.lastIndexOf(',"extensions":{"suggestions":')) + '}';
  return JSON.stringify(JSON.parse(others)) === JSON.stringify(rest) ? others : text;
}

/** Asks the server and graphql-js, compares, and counts. */
export class Judge {
  #ask;
  #answer;
  #answerAsServed;
  #given = new Placeholders();
  counts = { answered: 0, unmodelled: 0, refused: 0, limited: 0, unasked: 0 };
  gaps = {};

  /** `ask` gives the text of the server's answer to a request; the others are oracles, as `oracle.mjs` has them. */
  constructor(ask, answer, answerAsServed) {
    this.#ask = ask;
    this.#answer = answer;
    this.#answerAsServed = answerAsServed;
  }

  /** What differs for no known reason, or undefined. `change` is made to the text of the answer. */
  async check(request, change = (text) => text) {
    const { kind, found, gap } = await this.#compare(request, change);
    this.counts[kind] += 1;
    if (gap) this.gaps[gap] = (this.gaps[gap] ?? 0) + 1;
    return gap ? undefined : found?.text;
  }

  async #compare(request, change) {
    const variables = this.#given.fill(request.variables);
    // A changed request may ask for an id or a cursor that no answer had.
    if (variables === undefined && request.variables !== undefined) return { kind: 'unasked' };
    const text = change(withoutSuggestions(await this.#ask({ ...request, variables })));
    const ours = JSON.parse(text);
    if (limited(ours)) return { kind: 'limited' };
    const theirs = this.#answer(request);
    const kind = theirs.refused ? 'refused' : theirs.unknown.length > 0 ? 'unmodelled' : 'answered';
    const found = difference(theirs, ours, text, this.#given);
    if (!found) return { kind };
    const again = async (changed) => {
      const { found: left, gap } = await this.#compare({ ...request, ...changed }, (same) => same);
      return !left || gap !== undefined;
    };
    const like = (other) => !difference(other, ours, text, this.#given);
    const asServed = () => this.#answerAsServed(request);
    const answer = (changed) => this.#answer({ ...request, ...changed });
    return { kind, found, gap: await gapOf({ request, theirs, ours, found, again, like, answer, asServed }) };
  }
}

/** What of an answer is not as graphql-js says: a text, and whether it is only a place or no GraphQL at all; or undefined. */
function difference(theirs, ours, text, given) {
  let read;
  try {
    [read] = parseAt(text, 0, { strict: true });
  } catch (error) {
    return { text: error.message, isFault: true };
  }
  const members = [...read.keys()].join();
  if (!['data', 'errors', 'errors,data', 'data,errors'].includes(members)) {
    return { text: `members ${members}`, isFault: true };
  }
  if ('errors' in ours && !(ours.errors.length > 0)) return { text: 'errors without one', isFault: true };
  if (!('data' in ours)) return refusal(theirs, ours.errors);
  if (theirs.refused) return { text: `answered, not refused in ${theirs.refused}: ${theirs.errors[0]?.message}` };
  if (theirs.unknown.length > 0) return undefined;
  const wrong = given.compare(parseAt(print(theirs.data), 0)[0], read.get('data'));
  if (wrong) return { text: wrong };
  const summary = (errors, code) =>
    (errors ?? [])
      .map((error) => {
        const place = error.locations?.slice(0, 1).map(at);
        return `${JSON.stringify(error.path)} ${code(error)} ${place} ${comparableMessage(error.message)}`;
      })
      .sort();
  const [expected, actual] = [
    summary(theirs.errors, (error) => error.code),
    summary(ours.errors, (error) => error.extensions.code),
  ];
  return JSON.stringify(expected) === JSON.stringify(actual) ? undefined : { text: `errors ${actual}, not ${expected}` };
}

/** The same of a refusal. A library may stop at another fault than the other one, but at one that is there. */
function refusal(theirs, errors) {
  const [{ message, extensions }] = errors;
  const phase = phases[extensions.code];
  const [their] = theirs.errors ?? [];
  if (phase === undefined || phase !== theirs.refused) {
    const text = `${phase ?? extensions.code} (${message}), not ${theirs.refused ?? 'answered'} (${their?.message})`;
    return { text, isFault: phase === undefined };
  }
  if (phase === 'variables') {
    const [expected, actual] = [theirs.errors, errors].map((list) => list.map((error) => comparableMessage(error.message)).join('; '));
    if (expected !== actual) return { text: `told ${actual}, not ${expected}` };
  }
  const known = theirs.errors.flatMap(({ locations }) => locations?.map(at) ?? []);
  const found = errors.flatMap(({ locations }) => locations?.map(at) ?? []);
  const wrong = found.find((place) => !known.includes(place));
  if (!wrong && (known.length === 0 || found.length > 0)) return undefined;
  return { text: `error at ${wrong} (${message}), not ${known} (${their?.message})`, isPlace: true };
}
