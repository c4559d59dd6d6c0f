// graphql-eslint's rules for schemas: the recommended ones, those of Relay, and a description for everything.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import plugin from '@graphql-eslint/eslint-plugin';
import { ESLint } from 'eslint';

const repository = join(import.meta.dirname, '..', '..', '..');
const schema = join(repository, 'schema.graphql');

test('graphql-eslint finds nothing wrong in the schema', async () => {
  const rules = {
    ...plugin.configs['flat/schema-recommended'].rules,
    ...plugin.configs['flat/schema-relay'].rules,
    // A description of one line is a string and a longer one a block.
    '@graphql-eslint/description-style': 'off',
    // Only what `Query.node` finds again has an id, and the interface sees to that; the rest are values.
    '@graphql-eslint/strict-id-in-types': 'off',
    // Connections have `nodes` beside `edges`, short lists are plain, and problems and blobs have no ids: none of which
    // Relay's specification minds.
    '@graphql-eslint/relay-edge-types': ['error', { listTypeCanWrapOnlyEdgeType: false, shouldImplementNode: false }],
    '@graphql-eslint/require-description': [
      'error',
      {
        types: true,
        rootField: true,
        DirectiveDefinition: true,
        EnumValueDefinition: true,
        FieldDefinition: true,
        InputValueDefinition: true,
      },
    ],
  };
  const lint = new ESLint({
    cwd: repository,
    overrideConfigFile: true,
    overrideConfig: [
      {
        files: ['**/*.graphql'],
        plugins: { '@graphql-eslint': plugin },
        languageOptions: { parser: plugin.parser, parserOptions: { graphQLConfig: { schema } } },
        rules,
      },
    ],
  });
  const results = await lint.lintText(readFileSync(schema, 'utf8'), { filePath: schema });
  const findings = results.flatMap(({ messages }) =>
    messages.map(({ line, ruleId, message }) => `${line}: ${ruleId}: ${message}`),
  );
  assert.deepEqual(findings, []);
});
