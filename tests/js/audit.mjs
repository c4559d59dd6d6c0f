// The audit of the GraphQL over HTTP specification that graphql-http publishes, against the real server: every MUST,
// SHOULD and MAY.

import { serverAudits } from 'graphql-http';
import { withServer } from './server.mjs';

const results = await withServer(async (url) => {
  const found = [];
  for (const audit of serverAudits({ url, fetchFn: fetch })) {
    found.push({ ...(await audit.fn()), name: `${audit.id} ${audit.name}` });
  }
  return found;
});
for (const { name, status, reason } of results.filter((result) => result.status !== 'ok')) {
  console.error(`${status}: ${name}: ${reason}`);
}
const good = results.filter((result) => result.status === 'ok').length;
console.log(`${good} of ${results.length} audits of GraphQL over HTTP are met`);
process.exit(good === results.length ? 0 : 1);
