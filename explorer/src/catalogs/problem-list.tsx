// What is wrong in a catalog, or with one package of it, page after page.

import { Link } from "../address";
import { Problems, type ProblemsData, type ProblemsVariables } from "../generated/documents";
import { NextPage, Result } from "../parts";
import { useQuery } from "../use-query";

type Problem = NonNullable<NonNullable<ProblemsData["catalog"]>["problems"]>["nodes"][number];

/** Problems of one page. */
const PAGE_SIZE = 100;

export interface WantedProblems {
  catalog: string;
  /** Only those of this package. */
  package?: string | undefined;
  severity?: "error" | undefined;
}

/** What is asked for the first page, or for the one after a cursor. */
export function problemVariables({ catalog, package: name, severity }: WantedProblems, after?: string): ProblemsVariables {
  return {
    catalog,
    ...(name && { package: name }),
    ...(severity && { severity: "ERROR" as const }),
    first: PAGE_SIZE,
    ...(after && { after }),
  };
}

export interface ProblemListProps {
  of: WantedProblems;
  /** Whether all are about a package that the page is about. */
  isOfPackage?: boolean;
  /** The cursor that the page begins after. */
  after?: string;
}

export function ProblemList({ of, isOfPackage = false, after }: ProblemListProps) {
  const variables = problemVariables(of, after);
  const result = useQuery(Problems, variables);
  return (
    <Result of={result} document={Problems} variables={variables}>
      {(data) => {
        const found = data.catalog?.problems;
        if (!found) return null;
        return (
          <>
            <ul role="list" class="problems">
              {found.nodes.map((problem, at) => (
                <li key={at}>
                  <Where catalog={of.catalog} problem={problem} isNamed={!isOfPackage} />
                  <p class="message">
                    <bdi>{problem.message}</bdi>
                  </p>
                  {problem.file && (
                    <p class="file">
                      <code>
                        {problem.file}
                        {problem.line !== null && `:${problem.line}`}
                      </code>
                    </p>
                  )}
                </li>
              ))}
            </ul>
            <NextPage pageInfo={found.pageInfo}>
              {(cursor) => <ProblemList of={of} isOfPackage={isOfPackage} after={cursor} />}
            </NextPage>
          </>
        );
      }}
    </Result>
  );
}

function Where({ catalog, problem, isNamed }: { catalog: string; problem: Problem; isNamed: boolean }) {
  const { severity, code, packageName: name, channelName, bundleName } = problem;
  return (
    <p class="where">
      <span class={`badge ${severity === "ERROR" ? "danger" : "warning"}`}>{severity.toLowerCase()}</span>
      <code>{code}</code>
      {name && isNamed && (
        <Link data-item to={{ page: "package", catalog, package: name, tab: "problems" }}>
          <bdi>{name}</bdi>
        </Link>
      )}
      {name && channelName && (
        <Link to={{ page: "package", catalog, package: name, tab: "updates", channel: channelName }}>
          <bdi>{channelName}</bdi>
        </Link>
      )}
      {name && bundleName && (
        <Link to={{ page: "version", catalog, package: name, bundle: bundleName }}>
          <bdi>{bundleName}</bdi>
        </Link>
      )}
    </p>
  );
}
