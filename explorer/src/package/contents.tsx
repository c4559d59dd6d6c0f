// What a bundle consists of: its images, for mirroring, and its properties as they are in the catalog.

import { useState } from "preact/hooks";

import { BundleContents, BundleProperties } from "../generated/documents";
import { Copy, Empty, OpenInPlayground, Result } from "../parts";
import { counted } from "../parts/format";
import { imageList } from "../snippets/snippets";
import { useQuery } from "../use-query";
import { ImageName } from "./facts";
import type { TabProps } from "./package-page";

export function Contents({ address, found, bundle }: TabProps) {
  if (!bundle) return <Empty title="No version to show" />;
  return <BundleContentsView catalog={address.catalog} packageName={found.name} bundle={bundle.name} isPage />;
}

interface BundleName {
  catalog: string;
  packageName: string;
  bundle: string;
}

/** `isPage` where nothing else is shown. */
export function BundleContentsView({
  catalog,
  packageName,
  bundle,
  isPage = false,
}: BundleName & { isPage?: boolean }) {
  const variables = { catalog, package: packageName, bundle };
  const result = useQuery(BundleContents, variables);
  return (
    <>
      <Result of={result} document={BundleContents} variables={variables}>
        {({ bundle: found }) =>
          found && (
            <div class="stack">
              <Images image={found.image} related={found.relatedImages} />
              <Properties
                catalog={catalog}
                packageName={packageName}
                bundle={bundle}
                types={found.properties.map(({ type }) => type)}
              />
            </div>
          )
        }
      </Result>
      {isPage && <OpenInPlayground document={BundleContents} variables={variables} />}
    </>
  );
}

function Images({ image, related }: { image: string; related: readonly { name: string; image: string }[] }) {
  const names = new Map<string, string[]>();
  if (image) names.set(image, ["bundle"]);
  for (const each of related) names.set(each.image, [...(names.get(each.image) ?? []), each.name].filter(Boolean));
  names.delete("");
  if (names.size === 0) return <Empty title="The bundle names no images" />;
  return (
    <section class="card stack">
      <div class="card-title">
        <h2>
          Images <span class="count">{names.size}</span>
        </h2>
        <Copy text={imageList([...names.keys()])} label={`Copy ${counted(names.size, "image")}`} />
      </div>
      <ul role="list" class="images">
        {[...names].map(([image, uses]) => (
          <li key={image}>
            <ImageName image={image} />
            <bdi class="names">{uses.join(", ")}</bdi>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Properties({ types, ...of }: BundleName & { types: readonly string[] }) {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  return (
    <section class="card stack">
      <h2>
        Properties <span class="count">{types.length}</span>
      </h2>
      {[...counts].map(([type, count]) => (
        <Property key={type} {...of} type={type} count={count} />
      ))}
    </section>
  );
}

function Property({ type, count, ...of }: BundleName & { type: string; count: number }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>{type}</code> {count > 1 && <span class="count">{count}</span>}
      </summary>
      {isOpen && <Values type={type} {...of} />}
    </details>
  );
}

/** Characters of a value that are shown; all of it can be copied. */
const SHOWN_CHARACTERS = 20_000;

function Values({ type, catalog, packageName, bundle }: BundleName & { type: string }) {
  const variables = { catalog, package: packageName, bundle, type };
  const result = useQuery(BundleProperties, variables);
  return (
    <Result of={result} document={BundleProperties} variables={variables}>
      {(data) => (
        <div class="stack">
          {data.bundle?.properties.map(({ value }, at) => {
            const text = JSON.stringify(value, null, 2);
            return (
              <div key={at} class="snippet">
                <Copy text={text} label="Copy the value" icon />
                <pre tabIndex={0} role="group" aria-label={`Value of ${type}`}>
                  <code>{text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}\n…` : text}</code>
                </pre>
              </div>
            );
          })}
        </div>
      )}
    </Result>
  );
}
