// What is wrong with a package in its catalog.

import { Problems as Document } from "../generated/Problems";
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
              <p>Errors are what `opm validate` refuses. The catalog is served all the same.</p>
              <div class="card scrolling">
                <table>
                  <thead>
                    <tr>
                      <th scope="col">Severity</th>
                      <th scope="col">Problem</th>
                      <th scope="col">In</th>
                      <th scope="col">File</th>
                    </tr>
                  </thead>
                  <tbody>
                    {problems.nodes.map((problem, at) => (
                      <tr key={at}>
                        <td>
                          <span class={problem.severity === "ERROR" ? "badge danger" : "badge warning"}>
                            {problem.severity === "ERROR" ? "Error" : "Warning"}
                          </span>
                        </td>
                        <td>
                          <p>
                            <bdi>{problem.message}</bdi>
                          </p>
                          <code class="subtle">{problem.code}</code>
                        </td>
                        <td>
                          <bdi>{[problem.channelName, problem.bundleName].filter(Boolean).join(" · ")}</bdi>
                        </td>
                        <td>
                          {problem.file && (
                            <code>
                              {problem.file}
                              {problem.line !== null && `:${problem.line}`}
                            </code>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {problems.totalCount > problems.nodes.length && <p>{problems.totalCount - problems.nodes.length} more are not shown.</p>}
            </div>
          );
        }}
      </Result>
      <OpenInPlayground document={Document} variables={variables} />
    </>
  );
}
