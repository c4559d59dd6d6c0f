// What is wrong in a catalog, or with a package of it.

import { Link } from "../address";
import type { ProblemsData } from "../generated/Problems";

export type Problem = NonNullable<NonNullable<ProblemsData["catalog"]>["problems"]>["nodes"][number];

export interface ProblemListProps {
  catalog: string;
  problems: readonly Problem[];
  /** The package that all are about; each names its own without it. */
  packageName?: string;
}

export function ProblemList({ catalog, problems, packageName }: ProblemListProps) {
  return (
    <ul role="list" class="problems">
      {problems.map((problem, at) => (
        <li key={at}>
          <Where catalog={catalog} problem={problem} isNamed={packageName === undefined} />
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
