// What is wrong with a package in its catalog.

import { Link } from "../address";
import { Problems as Document, type ProblemsData } from "../generated/Problems";
import { Empty, OpenInPlayground, Result } from "../parts";
import { useQuery } from "../use-query";
import type { TabProps } from "./package-page";

/** Problems of one package that are shown. */
const SHOWN_PROBLEMS = 500;

export function Problems({ address, found }: TabProps) {
  const variables = { catalog: address.catalog, package: found.name, first: SHOWN_PROBLEMS };
  const result = useQuery(Document, variables);
  return (
    <>
      <Result of={result} document={Document} variables={variables}>
        {(data) => {
          const problems = data.catalog?.problems;
          if (!problems?.nodes.length) return <Empty title="No problems" />;
          return (
            <div class="stack">
              <p>
                Errors are what <code>opm validate</code> refuses. The catalog is served all the same.
              </p>
              <ul role="list" class="card plain-list package-problems">
                {problems.nodes.map((problem, at) => (
                  <Item key={at} address={address} problem={problem} />
                ))}
              </ul>
              {problems.totalCount > problems.nodes.length && (
                <p>{problems.totalCount - problems.nodes.length} more are not shown.</p>
              )}
            </div>
          );
        }}
      </Result>
      <OpenInPlayground document={Document} variables={variables} />
    </>
  );
}

type Problem = NonNullable<NonNullable<ProblemsData["catalog"]>["problems"]>["nodes"][number];

function Item({ address, problem }: Pick<TabProps, "address"> & { problem: Problem }) {
  const { severity, code, message, channelName, bundleName, file, line } = problem;
  const { catalog, package: name } = address;
  return (
    <li>
      <p class="package-names">
        <span class={`badge ${severity === "ERROR" ? "danger" : "warning"}`}>
          {severity === "ERROR" ? "Error" : "Warning"}
        </span>
        <code>{code}</code>
        {channelName && (
          <Link to={{ page: "package", catalog, package: name, tab: "updates", channel: channelName }}>
            <bdi>{channelName}</bdi>
          </Link>
        )}
        {bundleName && (
          <Link to={{ page: "version", catalog, package: name, bundle: bundleName }}>
            <bdi>{bundleName}</bdi>
          </Link>
        )}
      </p>
      <p>
        <bdi>{message}</bdi>
      </p>
      {file && (
        <p class="subtle">
          <code>
            {file}
            {line !== null && `:${line}`}
          </code>
        </p>
      )}
    </li>
  );
}
