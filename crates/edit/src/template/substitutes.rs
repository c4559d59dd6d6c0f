//! Bundles that stand in for others of a catalog.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use fbc_grammar::version::Version;
use fbc_read::problem::Severity;

use super::{RenderImage, TemplateError, entries, field, list};
use crate::content::Content;
use crate::state::{Blob, Bundle, Channel, Entry};
use crate::value::{Members, Value};

pub(super) fn render(
    template: &Value,
    image: RenderImage<'_>,
) -> Result<Vec<Value>, TemplateError> {
    let mut blobs = entries(template).map_err(TemplateError::SubstitutesEntry)?;
    check(&blobs).map_err(TemplateError::InvalidEntries)?;
    let mut bases: BTreeMap<&str, &str> = BTreeMap::new();
    for item in list(template, "substitutions") {
        let [name, base] = ["name", "base"]
            .map(|key| field(item, key).and_then(Value::as_str).unwrap_or_default());
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
        let done = substitute(&mut blobs, name, base, image);
        done.map_err(|fault| TemplateError::Substitution {
            base: base.to_owned(),
            name: name.to_owned(),
            fault,
        })?;
    }
    Ok(blobs)
}

/// Checks that blobs are a valid catalog; the error lists what is wrong.
fn check<'b>(blobs: impl IntoIterator<Item = &'b Value>) -> Result<(), String> {
    let content = Content::of_lines(blobs.into_iter().map(Value::to_json));
    // Those that belong to no package too: there is no such channel or bundle.
    let packages: BTreeSet<String> = content
        .metas()
        .iter()
        .map(|meta| meta.package.to_string())
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
    blobs: &mut Vec<Value>,
    name: &str,
    base: &str,
    image: RenderImage<'_>,
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
    let blob = image(name)
        .map_err(|fault| format!("failed to render bundle image reference {name:?}: {fault}"))?;
    let is_base = |blob: &&Value| blob.str("schema") == "olm.bundle" && blob.str("name") == base;
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
            let members = other.as_object().cloned().unwrap_or_default();
            let mut channel = Channel::read(Blob::new(members));
            relink(&mut channel, base, &new.name);
            *other = channel.value();
        }
    }
    blobs.push(blob);
    // Other packages were valid before. A substitute of another package is none: no channel may
    // list it.
    let is_touched = |blob: &&Value| packages.iter().any(|package| place(blob) == *package);
    check(blobs.iter().filter(is_touched))
        .map_err(|fault| format!("resulting config is not valid FBC: {fault}"))
}

/// Returns the package that a blob belongs to; an `olm.package` belongs to itself.
fn place(blob: &Value) -> &str {
    blob.str(if blob.str("schema") == "olm.package" {
        "name"
    } else {
        "package"
    })
}

fn bundle(blob: &Value) -> Bundle {
    let mut bundle = Bundle::read(Blob::new(blob.as_object().cloned().unwrap_or_default()));
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
fn compare(a: &Bundle, b: &Bundle) -> Ordering {
    let plain = |bundle: &Bundle| {
        let version = bundle
            .version
            .split('+')
            .next()
            .unwrap_or_default()
            .to_owned();
        Bundle {
            version,
            ..bundle.clone()
        }
    };
    plain(a).compare(&plain(b))
}

/// Gives the edges of a bundle to what stands in for it, and lets edges that lead to the one lead
/// to the other.
fn relink(channel: &mut Channel, base: &str, name: &str) {
    let Some(former) = channel.entry(base).cloned() else {
        return;
    };
    for entry in &mut channel.entries {
        if entry.name == base {
            *entry = Entry {
                name: base.to_owned(),
                others: entry.others.clone(),
                ..Entry::default()
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
    channel.entries.push(Entry {
        name: name.to_owned(),
        skips,
        others: Members::new(),
        ..former
    });
}
