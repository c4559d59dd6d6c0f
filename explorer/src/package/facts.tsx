// What the author of a bundle says about it, as a list of terms.

import type { ComponentChildren } from "preact";

import { type Address, EVERYTHING, Link } from "../address";
import type { BundleDetails, Metadata } from "../generated/documents";
import { WebLink } from "../markdown/web-link";
import { Copy, Day } from "../parts";
import { installMode, level, olmV1 } from "../parts/format";

export function Facts({ metadata, bundle }: { metadata: Metadata | null; bundle?: BundleDetails | null | undefined }) {
  return (
    <dl class="facts package-facts">
      {bundle?.version && <Fact term="Version">{bundle.version}</Fact>}
      {bundle && bundle.channelNames.length > 0 && <Fact term="Channels">{bundle.channelNames.join(", ")}</Fact>}
      {metadata && <Author {...metadata} />}
      {metadata && <Kind {...metadata} />}
      {metadata && <Needs {...metadata} maxOpenShiftVersion={bundle?.maxOpenShiftVersion ?? null} />}
      {bundle && <OlmV1 {...bundle.olmV1} />}
      {bundle && <Support {...bundle} />}
      {metadata?.containerImage && (
        <Fact term="Operator image">
          <ImageName image={metadata.containerImage} />
        </Fact>
      )}
      {bundle?.image && (
        <Fact term="Bundle image">
          <ImageName image={bundle.image} />
        </Fact>
      )}
    </dl>
  );
}

function Author({ provider, createdAt, maintainers, links, repository, support }: Metadata) {
  const name = provider?.name ?? provider?.shortName;
  return (
    <>
      {name && <Fact term="Provider">{provider?.url ? <WebLink href={provider.url}>{name}</WebLink> : name}</Fact>}
      {createdAt && (
        <Fact term="Created">
          <Day time={createdAt} />
        </Fact>
      )}
      {repository && (
        <Fact term="Repository">
          <WebLink href={repository}>{repository}</WebLink>
        </Fact>
      )}
      {links.length > 0 && (
        <Fact term="Links">
          <List items={links.map(({ name, url }) => (url ? <WebLink href={url}>{name ?? url}</WebLink> : name))} />
        </Fact>
      )}
      {maintainers.length > 0 && (
        <Fact term="Maintainers">
          <List
            items={maintainers.map(({ name, email }) =>
              email ? <WebLink href={`mailto:${email}`}>{name ?? email}</WebLink> : name,
            )}
          />
        </Fact>
      )}
      {support && <Fact term="Supported by">{support}</Fact>}
    </>
  );
}

function Kind({
  capabilityLevel,
  maturity,
  categories,
  keywords,
  certified,
  certifiedLevel,
  validSubscriptions,
}: Metadata) {
  return (
    <>
      {capabilityLevel && <Fact term="Capability level">{level(capabilityLevel)}</Fact>}
      {maturity && <Fact term="Maturity">{maturity}</Fact>}
      {certified !== null && <Fact term="Certified">{certified ? (certifiedLevel ?? "Yes") : "No"}</Fact>}
      {categories.length > 0 && (
        <Fact term="Categories">
          <Filters items={categories} to={(category) => ({ ...EVERYTHING, category: [category] })} />
        </Fact>
      )}
      {keywords.length > 0 && (
        <Fact term="Keywords">
          <Filters items={keywords} to={(keyword) => ({ ...EVERYTHING, keyword: [keyword] })} />
        </Fact>
      )}
      {validSubscriptions.length > 0 && <Fact term="Subscriptions">{validSubscriptions.join(", ")}</Fact>}
    </>
  );
}

function Needs(metadata: Metadata & { maxOpenShiftVersion: string | null }) {
  const { installModes, infrastructureFeatures, architectures, minKubeVersion, maxKubeVersion, maxOpenShiftVersion } =
    metadata;
  return (
    <>
      {installModes.length > 0 && <Fact term="Install modes">{installModes.map(installMode).join(", ")}</Fact>}
      {infrastructureFeatures.length > 0 && <Fact term="Features">{infrastructureFeatures.join(", ")}</Fact>}
      <Fact term="Architectures">{architectures.join(", ")}</Fact>
      {(minKubeVersion || maxKubeVersion) && (
        <Fact term="Kubernetes">
          {[minKubeVersion && `${minKubeVersion} or newer`, maxKubeVersion && `up to ${maxKubeVersion}`]
            .filter(Boolean)
            .join(", ")}
        </Fact>
      )}
      {maxOpenShiftVersion && <Fact term="OpenShift">up to {maxOpenShiftVersion}</Fact>}
    </>
  );
}

/** Whether OLM v1 can install the version, with the reasons. */
function OlmV1({ installable, blockers }: BundleDetails["olmV1"]) {
  return (
    <Fact term="OLM v1">
      {olmV1(installable)}
      <List items={blockers.map(({ detail }) => detail)} />
    </Fact>
  );
}

function Support({ lifecycle }: BundleDetails) {
  if (!lifecycle) return null;
  const { version, phases, supportEndDate, platforms } = lifecycle;
  return (
    <>
      <Fact term={`Support of ${version}`}>
        {phases.length === 0 && (supportEndDate ? `until ${supportEndDate}` : "not known")}
        <List items={phases.map(({ name, startDate, endDate }) => `${name}: ${startDate ?? ""} – ${endDate ?? ""}`)} />
      </Fact>
      {platforms.map(({ name, versions }) => (
        <Fact key={name} term={name === "openshift" ? "OpenShift versions" : name}>
          {versions.join(", ")}
        </Fact>
      ))}
    </>
  );
}

function Fact({ term, children }: { term: string; children: ComponentChildren }) {
  return (
    <>
      <dt>
        <bdi>{term}</bdi>
      </dt>
      <dd>
        <bdi>{children}</bdi>
      </dd>
    </>
  );
}

function List({ items }: { items: readonly ComponentChildren[] }) {
  return (
    <ul role="list" class="plain-list">
      {items.map((item, at) => item && <li key={at}>{item}</li>)}
    </ul>
  );
}

function Filters({ items, to }: { items: readonly string[]; to: (item: string) => Address }) {
  const named = [...new Set(items)].filter((item) => item.trim() !== "");
  return (
    <ul role="list" class="chips-list">
      {named.map((item) => (
        <li key={item}>
          <Link class="tag" to={to(item)}>
            {item}
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** A reference of an image, which may break at any place, with a button that copies it. */
export function ImageName({ image }: { image: string }) {
  return (
    <span class="image-name">
      <code>{image}</code>
      <Copy text={image} label="Copy the image reference" icon />
    </span>
  );
}
