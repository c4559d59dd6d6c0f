// mercurius with jit over Fastify: an operation is compiled when it comes for the second time.

import Fastify from 'fastify';
import mercurius from 'mercurius';
import { packages, port, typeDefs } from '../packages.mjs';

const app = Fastify();
app.register(mercurius, { schema: typeDefs, resolvers: { Query: { packages: (_, args) => packages(args) } }, jit: 1 });
await app.listen({ port: Number(port), host: '127.0.0.1' });
