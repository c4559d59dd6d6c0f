// graphql-js over graphql-http with our schema and nothing behind it: what a server tells that hides nothing.
// It prints its address.

import { createServer } from 'node:http';
import { createHandler } from 'graphql-http/lib/use/http';
import { schema } from './oracle.mjs';

const server = createServer(createHandler({ schema }));
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/graphql`));
