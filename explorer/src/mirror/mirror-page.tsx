// A mirror set: which bundles and images of a catalog a disconnected cluster needs, and why.

import "../package/package.css";
import "../resolve/resolve.css";
import "./mirror.css";

import { Heading, Link, type MirrorAddress } from "../address";
import { cluster, platformInput } from "../cluster/cluster";
import { Mirror, type MirrorData } from "../generated/documents";
import { Copy, Deprecated, Empty, FirstOf, OpenInPlayground, Result, Table } from "../parts";
import { counted, number } from "../parts/format";
import { Glyph } from "../parts/glyph";
import { saveFile } from "../parts/save";
import { Snippet } from "../snippets/snippet";
import { useStore } from "../store";
import { useQuery } from "../use-query";
import { MirrorForm } from "./form";
import { parsePick, pickInput } from "./picks";
import { reasonText } from "./reasons";

type MirrorSet = NonNullable<NonNullable<MirrorData["catalog"]>["mirrorSet"]>;

/** Bundles and images that are shown at first. */
const SHORT = 40;

export default function MirrorPage({ address }: { address: MirrorAddress }) {
  const { catalog } = address;
  return (
    <article class="package">
      <nav class="crumbs" aria-label="Breadcrumb">
        <Link to={catalog ? { page: "catalog", catalog } : { page: "catalogs" }}>{catalog ?? "Catalogs"}</Link>
      </nav>
      <header>
        <Heading title={catalog ? `Mirror set of ${catalog}` : "Mirror set"} />
        <p class="subtle">What a cluster without internet needs of a catalog: bundles and images with the reason for each. Nothing is copied.</p>
      </header>
      <div class="resolve">
        <MirrorForm address={address} />
        <section class="stack" aria-label="Result">
          {!catalog ? (
            <Empty title="Which catalog?" />
          ) : address.pick.length === 0 ? (
            <Empty title="Which packages?">
              <p>Name a package to see what must be copied for it.</p>
            </Empty>
          ) : (
            <Selected address={address} catalog={catalog} />
          )}
        </section>
      </div>
    </article>
  );
}

function Selected({ address, catalog }: { address: MirrorAddress; catalog: string }) {
  const current = useStore(cluster);
  const platform = address.fits ? platformInput(current) : undefined;
  const { to = "" } = address;
  const variables = {
    catalog,
    input: { packages: address.pick.map((text) => pickInput(parsePick(text), platform)), full: address.full === "yes" },
    to,
    hasTarget: to !== "",
  };
  const result = useQuery(Mirror, variables);
  return (
    <>
      <Result of={result} document={Mirror} variables={variables}>
        {(data) => {
          const set = data.catalog?.mirrorSet;
          if (!data.catalog) return <Empty title={`No catalog ${catalog} is served`} />;
          return set && <Shown set={set} catalog={catalog} to={to} />;
        }}
      </Result>
      <OpenInPlayground document={Mirror} variables={variables} />
    </>
  );
}

interface ShownProps {
  set: MirrorSet;
  catalog: string;
  /** The registry to copy to; empty without one. */
  to: string;
}

function Shown({ set, catalog, to }: ShownProps) {
  const { counts, problems, isRefused } = set;
  return (
    <div class="stack">
      <div role="status">
        <h2>
          {isRefused
            ? "This selection is refused"
            : `${counted(counts.bundles, "bundle")} and ${counted(counts.images, "image")} of ${counted(counts.packages, "package")}`}
        </h2>
        {!isRefused && <p class="subtle">The catalog does not tell how large images are.</p>}
      </div>
      <Problems problems={problems} />
      {!isRefused && (
        <>
          <Bundles bundles={set.bundles} catalog={catalog} />
          <Images images={set.images} catalog={catalog} />
          <Files set={set} catalog={catalog} to={to} />
        </>
      )}
    </div>
  );
}

function Problems({ problems }: Pick<MirrorSet, "problems">) {
  if (problems.length === 0) return null;
  return (
    <ul role="list" class="mirror-problems" aria-label="Problems">
      {problems.map(({ code, severity, path, message, likeOcMirror }, at) => (
        <li key={at} class={`alert ${severity === "ERROR" ? "danger" : "warning"}`}>
          <Glyph name="alert" />
          <div>
            <strong>{severity === "ERROR" ? "Error" : "Warning"}</strong> <code>{code}</code> <span class="subtle">{path}</span>
            <p class="message">
              <bdi>{message}</bdi>
            </p>
            {likeOcMirror && (
              <p>
                oc-mirror: <bdi>{likeOcMirror}</bdi>
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

function Bundles({ bundles, catalog }: Pick<MirrorSet, "bundles"> & { catalog: string }) {
  return (
    <section class="card stack" aria-label="Bundles">
      <h2>Bundles</h2>
      <FirstOf items={bundles} count={SHORT}>
        {(shown) => (
          <Table heads={["Package", "Version", "Why"]} label="Bundles of the mirror set">
            {shown.map(({ bundle, reasons, isListed }) => (
              <tr key={bundle.name}>
                <td>
                  <bdi>{bundle.package.name}</bdi>
                </td>
                <td>
                  <Link to={{ page: "version", catalog, package: bundle.package.name, bundle: bundle.name }}>{bundle.version ?? bundle.name}</Link>{" "}
                  {bundle.deprecation && <Deprecated message={bundle.deprecation.message} />}
                </td>
                <td>
                  <bdi>{reasons.map(reasonText).join(", ")}</bdi> {!isListed && <span class="badge">images only</span>}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </FirstOf>
    </section>
  );
}

function Images({ images, catalog }: Pick<MirrorSet, "images"> & { catalog: string }) {
  const text = () => `${images.map(({ reference }) => reference).join("\n")}\n`;
  return (
    <section class="card stack" aria-label="Images">
      <div class="mirror-title">
        <h2>Images</h2>
        <span class="actions">
          <Copy text={text} label={`Copy all ${number(images.length)}`} />{" "}
          <button type="button" onClick={() => saveFile({ name: `${catalog}-images.txt`, type: "text/plain", text: text() })}>
            <Glyph name="download" />
            Download
          </button>
        </span>
      </div>
      <FirstOf items={images} count={SHORT}>
        {(shown) => (
          <ul class="mirror-images">
            {shown.map(({ reference, kind, byTag, usedBy }) => (
              <li key={reference}>
                <code>{reference}</code> {byTag && <span class="badge warning">by tag: may change</span>}{" "}
                <span class="subtle">
                  {kind === "BUNDLE" ? "bundle" : "used"} {usedBy.length > 1 ? `by ${counted(usedBy.length, "bundle")}` : <bdi>{usedBy[0]?.name}</bdi>}
                </span>
              </li>
            ))}
          </ul>
        )}
      </FirstOf>
    </section>
  );
}

function Files({ set, catalog, to }: ShownProps) {
  const { imageSetConfiguration, mapping, imageMirrorSets } = set;
  return (
    <section class="card stack" aria-label="Files">
      <h2>For other tools</h2>
      <File of={imageSetConfiguration} label="ImageSetConfiguration" file={`${catalog}-imageset.yaml`}>
        With it, oc-mirror selects exactly the same.
      </File>
      {to ? (
        <>
          <File of={imageMirrorSets} label="ImageDigestMirrorSet and ImageTagMirrorSet" file={`${catalog}-mirror-sets.yaml`}>
            With them, OpenShift pulls the images from {to}.
          </File>
          <details>
            <summary>mapping.txt</summary>
            <File of={mapping} label="mapping.txt" file={`${catalog}-mapping.txt`}>
              Each image with where it is copied to.
            </File>
          </details>
        </>
      ) : (
        <p class="subtle">Name a registry to copy to for the manifests that lead a cluster there.</p>
      )}
    </section>
  );
}

interface FileProps {
  of: { text: string | null; message: string | null } | undefined;
  label: string;
  file: string;
  children: string | readonly string[];
}

function File({ of, label, file, children }: FileProps) {
  if (!of) return null;
  if (of.text === null) {
    return (
      <div class="alert info">
        <div>
          <strong>No {label}</strong>
          <p class="message">{of.message}</p>
        </div>
      </div>
    );
  }
  return (
    <>
      <h3>{label}</h3>
      <Snippet label={label} text={of.text} file={file}>
        {children}
      </Snippet>
    </>
  );
}
