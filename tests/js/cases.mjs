// Every case: a name, a document, and perhaps variables and the name of an operation. `{digest NAME}` stands for the
// digest of a catalog, a text between « and » for an id or a cursor that an earlier answer gave.

import catalogs from './cases/catalogs.mjs';
import conflicts from './cases/conflicts.mjs';
import diff from './cases/diff.mjs';
import directives from './cases/directives.mjs';
import documents from './cases/documents.mjs';
import errors from './cases/errors.mjs';
import inputs from './cases/inputs.mjs';
import introspection from './cases/introspection.mjs';
import language from './cases/language.mjs';
import metadata from './cases/metadata.mjs';
import nodes from './cases/nodes.mjs';
import paging from './cases/paging.mjs';
import rules from './cases/rules.mjs';
import selection from './cases/selection.mjs';
import variables from './cases/variables.mjs';

const families = { catalogs, nodes, metadata, inputs, paging, errors, diff, selection, conflicts, variables, directives, introspection, documents, rules, language };

export default Object.entries(families).flatMap(([family, cases]) =>
  Object.entries(cases).map(([name, request]) => ({
    name: `${family}: ${name}`,
    ...(typeof request === 'string' ? { query: request } : request),
  })),
);
