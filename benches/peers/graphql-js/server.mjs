// graphql-js over graphql-http and the server of Node.

import { createServer } from 'node:http';
import { buildSchema } from 'graphql';
import { createHandler } from 'graphql-http/lib/use/http';
import { packages, port, typeDefs } from '../packages.mjs';

const handler = createHandler({ schema: buildSchema(typeDefs), rootValue: { packages } });
createServer(handler).listen(Number(port), '127.0.0.1');
