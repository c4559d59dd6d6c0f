//! Substitutes for bundles of a catalog.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use fbc_grammar::version::Version;
use fbc_read::problem::Severity;

use super::{RenderImage, TemplateError, entries, field, list};
use crate::catalog::CatalogBlobs;
use crate::draft::{DraftBlob, DraftBundle, DraftChannel, DraftEntry};
use crate::value::{BlobValue, Members};

pub(super) fn render(
    template: &BlobValue,
    render_image: RenderImage<'_>,
) -> Result<Vec<BlobValue>, TemplateError> {
    let mut blobs = entries(template).map_err(TemplateError::SubstitutesEntry)?;
    check(&blobs).map_err(TemplateError::InvalidEntries)?;
    let mut bases: BTreeMap<&str, &str> = BTreeMap::new();
    for item in list(template, "substitutions") {
        let [name, base] = ["name", "base"].map(|key| {
            field(item, key)
                .and_then(BlobValue::as_str)
                .unwrap_or_default()
        });
        // Two substitutes of one base would both take its edges.
        if bases.values().any(|other| *other == base) {
            return Err(TemplateError::BaseReused(base.to_owned()));
        }
        if let Some(first) = bases.insert(name, base) {
            let [name, first, second] = [name, first, base].map(str::to_owned);
            return Err(TemplateError::SubstituteReused {
                name,
                first,
                second,
            });
        }
        substitute(&mut blobs, name, base, render_image).map_err(|reason| {
            TemplateError::Substitution {
                base: base.to_owned(),
                name: name.to_owned(),
                reason,
            }
        })?;
    }
    Ok(blobs)
}

/// Checks that blobs are a valid catalog; the error lists their problems.
fn check<'b>(blobs: impl IntoIterator<Item = &'b BlobValue>) -> Result<(), String> {
    let content = CatalogBlobs::from_lines(blobs.into_iter().map(BlobValue::to_json));
    // Channels and bundles without a package too: they are not valid.
    let packages: BTreeSet<String> = content
        .blobs()
        .iter()
        .map(|blob| blob.package.to_string())
        .collect();
    let problems = content
        .problems(&packages)
        .map_err(|error| error.to_string())?;
    let errors = problems
        .into_iter()
        .filter(|(severity, _)| *severity == Severity::Error);
    let errors: Vec<_> = errors.map(|(_, problem)| problem.to_string()).collect();
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.join("; "))
    }
}

fn substitute(
    blobs: &mut Vec<BlobValue>,
    name: &str,
    base: &str,
    render_image: RenderImage<'_>,
) -> Result<(), String> {
    if name.is_empty() {
        return Err("substitution name cannot be empty".to_owned());
    }
    if base.is_empty() {
        return Err("substitution base cannot be empty".to_owned());
    }
    if name == base {
        return Err("substitution name and base cannot be the same".to_owned());
    }
    let blob = render_image(name)
        .map_err(|reason| format!("failed to render bundle image reference {name:?}: {reason}"))?;
    let is_base =
        |blob: &&BlobValue| blob.str("schema") == "olm.bundle" && blob.str("name") == base;
    let former = blobs.iter().find(is_base);
    let former = former.ok_or_else(|| format!("base bundle {base:?} does not exist in catalog"))?;
    let packages = [former.str("package"), blob.str("package")].map(str::to_owned);
    let new = bundle(&blob);
    if compare(&bundle(former), &new) != Ordering::Less {
        return Err(format!(
            "base bundle {base:?} is not less than substitute bundle {name:?}"
        ));
    }
    for other in blobs.iter_mut() {
        if other.str("schema") == "olm.channel" && other.str("package") == packages[0] {
            let members = other.clone().into_members();
            let mut channel = DraftChannel::from_blob(DraftBlob::new(members));
            redirect_edges(&mut channel, base, &new.name);
            *other = channel.value();
        }
    }
    blobs.push(blob);
    // Other packages were valid before. A substitute of another package is none: no channel may
    // list it.
    let is_touched =
        |blob: &&BlobValue| packages.iter().any(|package| package_of(blob) == *package);
    check(blobs.iter().filter(is_touched))
        .map_err(|reason| format!("resulting config is not valid FBC: {reason}"))
}

/// Returns the package that a blob belongs to; an `olm.package` belongs to itself.
fn package_of(blob: &BlobValue) -> &str {
    blob.str(if blob.str("schema") == "olm.package" {
        "name"
    } else {
        "package"
    })
}

fn bundle(blob: &BlobValue) -> DraftBundle {
    let mut bundle = DraftBundle::from_members(DraftBlob::new(blob.clone().into_members()));
    let metadata = blob
        .list(&["properties"])
        .iter()
        .find(|property| property.str("type") == "olm.csv.metadata");
    let annotations = metadata.and_then(|property| property.at(&["value", "annotations"]));
    let is_substitute =
        annotations.is_some_and(|annotations| !annotations.str("olm.substitutesFor").is_empty());
    // Before there were releases, build metadata of such bundles was one.
    if bundle.release.is_empty() && is_substitute {
        let build = Version::parse(&bundle.version).map(|version| version.build().to_owned());
        bundle.release = build.unwrap_or_default();
    }
    bundle
}

/// Orders bundles by version without build metadata, then by release.
fn compare(a: &DraftBundle, b: &DraftBundle) -> Ordering {
    let plain = |bundle: &DraftBundle| {
        let version = bundle
            .version
            .split('+')
            .next()
            .unwrap_or_default()
            .to_owned();
        DraftBundle {
            version,
            ..bundle.clone()
        }
    };
    plain(a).compare(&plain(b))
}

/// Gives the edges of a base to its substitute, and redirects the edges that lead to the base.
fn redirect_edges(channel: &mut DraftChannel, base: &str, name: &str) {
    let Some(former) = channel.entry(base).cloned() else {
        return;
    };
    for entry in &mut channel.entries {
        if entry.name == base {
            *entry = DraftEntry {
                name: base.to_owned(),
                others: entry.others.clone(),
                ..DraftEntry::default()
            };
        } else if entry.replaces == base {
            name.clone_into(&mut entry.replaces);
            entry.skips.push(base.to_owned());
        } else if entry.skips.iter().any(|skip| skip == base) {
            entry.skips.push(name.to_owned());
        }
    }
    let mut skips = former.skips;
    skips.push(base.to_owned());
    channel.entries.push(DraftEntry {
        name: name.to_owned(),
        skips,
        others: Members::new(),
        ..former
    });
}
