// The APIs that a bundle provides and what it needs.

import { Link } from "../address";
import type { BundleDetails } from "../generated/documents";
import { Markdown } from "../markdown/markdown";
import { counted } from "../parts/format";
import { rangeInWords } from "../compare/range";
import { ApiLink } from "./api-link";
import { apiKey, describedApis } from "./descriptions";
import { RequiredByList } from "./required-by";

export function ProvidedApis({ bundle }: { bundle: BundleDetails }) {
  const { providedApis, metadata } = bundle;
  if (providedApis.length === 0) return null;
  const described = describedApis(metadata?.ownedCrds ?? []);
  return (
    <section class="card stack">
      <h2>
        Provided APIs <span class="count">{providedApis.length}</span>
      </h2>
      <ul role="list" class="api-list">
        {providedApis.map((api) => {
          const crd = described.get(apiKey(api));
          return (
            <li key={apiKey(api)}>
              <h3>
                <ApiLink {...api} /> {crd?.isInternal && <span class="badge">internal</span>}
              </h3>
              <p class="subtle">
                <code>
                  {api.group}/{api.version}
                </code>
              </p>
              {crd?.description && <Markdown text={crd.description} level={4} />}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

export interface RequirementsProps {
  catalog: string;
  packageName: string;
  bundle: BundleDetails;
}

export function Requirements({ catalog, packageName, bundle }: RequirementsProps) {
  const { requirements, requiredBy } = bundle;
  const count = requiredBy?.totalCount ?? 0;
  if (requirements.length === 0 && count === 0) return null;
  return (
    <section class="card stack">
      {requirements.length > 0 && (
        <>
          <h2>Requires</h2>
          <ul class="bullets">
            {requirements.map((requirement, at) => (
              <li key={at}>
                <RequirementText catalog={catalog} {...requirement} />
              </li>
            ))}
          </ul>
        </>
      )}
      {count > 0 && (
        <>
          <h2>Required by</h2>
          <details>
            <summary>{counted(count, "version")} of other packages of the catalog</summary>
            <RequiredByList catalog={catalog} packageName={packageName} bundle={bundle.name} />
          </details>
        </>
      )}
    </section>
  );
}

function RequirementText({ catalog, text, constraint }: { catalog: string } & BundleDetails["requirements"][number]) {
  const { package: required, gvk } = constraint ?? {};
  if (required) {
    const name = required.package?.displayName ?? required.packageName;
    return (
      <>
        Package{" "}
        {required.package ? (
          <Link to={{ page: "package", catalog, package: required.packageName }}>
            <bdi>{name}</bdi>
          </Link>
        ) : (
          <>
            <code>{name}</code> <span class="badge warning">not in this catalog</span>
          </>
        )}
        , {rangeInWords(required.versionRange)}
      </>
    );
  }
  if (gvk) {
    return (
      <>
        API <ApiLink {...gvk} />{" "}
        <code>
          {gvk.group}/{gvk.version}
        </code>
      </>
    );
  }
  return <bdi>{text}</bdi>;
}
