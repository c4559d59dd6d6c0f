//! Deprecation: messages, and truncation at a bundle.

use std::collections::BTreeSet;

use crate::bundle::property;
use crate::content::Content;
use crate::error::{EditError, Refusal};
use crate::operation::{Deprecate, DeprecateTruncate, Reference, Undeprecate};
use crate::package::existing;
use crate::state::{Blob, Channel, Package};
use crate::value::{Members, Value};

/// Sets messages of deprecation, in the package's one `olm.deprecations`.
pub(crate) fn deprecate(content: &mut Content, request: &Deprecate) -> Result<(), Refusal> {
    let mut package = existing(content, &request.package)?;
    let mut entries = entries(&package);
    for wanted in &request.entries {
        let Reference { schema, name } = wanted.reference.clone();
        if wanted.message.is_empty() {
            return Err(EditError::NoMessage { schema, name }.into());
        }
        let mut reference: Members = [("schema".to_owned(), Value::text(schema))].into();
        if !name.is_empty() {
            reference.insert("name".to_owned(), Value::text(name));
        }
        let entry =
            Value::object([("reference", Value::Object(reference)), ("message", Value::text(&*wanted.message))]);
        match entries.iter_mut().find(|entry| is_about(entry, &wanted.reference)) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }
    set_entries(&mut package, entries);
    Ok(content.set_package(&package)?)
}

/// Removes messages of deprecation, and the `olm.deprecations` when it has none left.
pub(crate) fn undeprecate(content: &mut Content, request: &Undeprecate) -> Result<(), Refusal> {
    let mut package = existing(content, &request.package)?;
    let mut entries = entries(&package);
    entries.retain(|entry| !request.references.iter().any(|reference| is_about(entry, reference)));
    set_entries(&mut package, entries);
    Ok(content.set_package(&package)?)
}

/// Removes the messages about channels and bundles that a package no longer has, and the `olm.deprecations` when it has
/// none left. Messages about what it did not have before either stay: they are mistakes that are told.
pub(crate) fn drop_lost(package: &mut Package, former: &Package) {
    let all = entries(package);
    let kept: Vec<_> = all.iter().filter(|entry| !is_about_lost(entry, package, former)).cloned().collect();
    if kept.len() < all.len() {
        set_entries(package, kept);
    }
}

fn is_about_lost(entry: &Value, package: &Package, former: &Package) -> bool {
    let Some(reference) = entry.get("reference") else { return false };
    let name = reference.str("name");
    match reference.str("schema") {
        "olm.channel" => former.channel(name).is_some() && package.channel(name).is_none(),
        "olm.bundle" => former.bundle(name).is_some() && package.bundle(name).is_none(),
        _ => false,
    }
}

fn entries(package: &Package) -> Vec<Value> {
    match package.deprecations.as_ref().and_then(|blob| blob.members.get("entries")) {
        Some(Value::Array(entries)) => entries.clone(),
        _ => Vec::new(),
    }
}

fn set_entries(package: &mut Package, entries: Vec<Value>) {
    if entries.is_empty() {
        package.deprecations = None;
        return;
    }
    let blob = package.deprecations.get_or_insert_with(|| {
        let members = [("schema", Value::text("olm.deprecations")), ("package", Value::text(&*package.name))];
        Blob { id: None, members: members.map(|(key, value)| (key.to_owned(), value)).into() }
    });
    blob.members.insert("entries".to_owned(), Value::Array(entries));
}

fn is_about(entry: &Value, reference: &Reference) -> bool {
    entry
        .get("reference")
        .is_some_and(|found| (found.str("schema"), found.str("name")) == (&reference.schema, &reference.name))
}

/// Truncates packages at the bundles of some images: what these replace or skip goes, and they stay without edges.
pub(crate) fn truncate(content: &mut Content, request: &DeprecateTruncate) -> Result<(), Refusal> {
    let mut images = request.images.clone();
    let mut packages = packages_of(content, &images)?;
    let is_known = |image: &String| packages.iter().any(|package| bundle_of(package, image).is_some());
    let (known, unknown): (Vec<_>, Vec<_>) = images.into_iter().partition(is_known);
    if !unknown.is_empty() && !request.permissive {
        return Err(EditError::UnknownImages(unknown).into());
    }
    images = known;
    if request.allow_package_removal {
        remove_whole(content, &mut packages, &mut images)?;
    }
    let mut errors = Vec::new();
    for package in &mut packages {
        let former = package.clone();
        for image in &images {
            if let Some(name) = bundle_of(package, image) {
                errors.extend(truncate_at(package, &former, &name, image).err());
            }
        }
        if request.drop_truncated {
            drop_truncated(package);
        }
        drop_lost(package, &former);
    }
    if !errors.is_empty() {
        return Err(Refusal(errors));
    }
    for package in packages {
        content.set_package(&package)?;
    }
    Ok(())
}

/// Finds the packages that have bundles of these images.
fn packages_of(content: &Content, images: &[String]) -> Result<Vec<Package>, EditError> {
    let quoted: Vec<_> = images.iter().map(|image| Value::text(&**image).to_json()).collect();
    let has_any = |line: &str| quoted.iter().any(|image| line.contains(image));
    let metas = content.metas().iter().filter(|meta| &*meta.schema == "olm.bundle" && has_any(&meta.line));
    let names: BTreeSet<_> = metas.map(|meta| &meta.package).collect();
    names.into_iter().map(|name| content.package(name)).collect()
}

fn bundle_of(package: &Package, image: &str) -> Option<String> {
    package.bundles.iter().find(|bundle| bundle.image == image).map(|bundle| bundle.name.clone())
}

/// Removes packages whose default channel's head is listed, if all their heads are.
fn remove_whole(content: &mut Content, packages: &mut Vec<Package>, images: &mut Vec<String>) -> Result<(), Refusal> {
    let mut removed = Vec::new();
    for package in &*packages {
        let listed = |name: &str| package.bundle(name).is_some_and(|bundle| images.contains(&bundle.image));
        let default = package.channel(package.default_channel());
        let is_whole = default.is_some_and(|channel| channel.heads().iter().any(|head| listed(&head.name)));
        if !is_whole {
            continue;
        }
        for channel in &package.channels {
            if let Some(head) = channel.heads().into_iter().find(|head| !listed(&head.name)) {
                let image = package.bundle(&head.name).map(|bundle| bundle.image.clone()).unwrap_or_default();
                let (package, channel) = (package.name.clone(), channel.name.clone());
                return Err(EditError::OtherHeads { package, image, channel }.into());
            }
        }
        removed.push(package.name.clone());
    }
    for name in removed {
        content.remove_package(&name);
        let is_removed = |package: &mut Package| package.name == name;
        for package in packages.extract_if(.., is_removed) {
            images.retain(|image| bundle_of(&package, image).is_none());
        }
    }
    Ok(())
}

fn truncate_at(package: &mut Package, former: &Package, name: &str, image: &str) -> Result<(), EditError> {
    let tail = tail(former, name);
    let default = package.channel(package.default_channel());
    let heads: Vec<_> = default.map(|channel| channel.heads()).unwrap_or_default();
    if heads.iter().any(|head| head.name == name || tail.contains(&head.name)) {
        return Err(EditError::DeprecatesDefaultChannel(image.to_owned()));
    }
    for channel in &mut package.channels {
        if channel.entry(name).is_none() {
            continue;
        }
        let is_head = channel.heads().iter().any(|head| head.name == name);
        let above = above(channel, name);
        let tail: BTreeSet<&String> = tail.iter().filter(|name| !above.contains(*name)).collect();
        channel.entries.retain(|entry| !tail.contains(&entry.name));
        for entry in &mut channel.entries {
            if entry.name == name {
                (entry.replaces, entry.skips, entry.skip_range) = Default::default();
            }
            entry.skips.retain(|skip| !tail.contains(skip));
        }
        if is_head {
            channel.entries.clear();
        }
    }
    package.channels.retain(|channel| !channel.entries.is_empty());
    let in_use = |bundle: &str| package.channels.iter().any(|channel| channel.entry(bundle).is_some());
    let keep: Vec<bool> = package.bundles.iter().map(|bundle| in_use(&bundle.name)).collect();
    let mut keep = keep.into_iter();
    package
        .bundles
        .retain(|bundle| keep.next().unwrap_or(true) || !(tail.contains(&bundle.name) || bundle.name == name));
    mark(package, name);
    Ok(())
}

/// Finds everything that a bundle leads to by `replaces` and `skips`, in any channel.
fn tail(package: &Package, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(current) = open.pop() {
        for entry in package.channels.iter().filter_map(|channel| channel.entry(&current)) {
            for next in entry.skips.iter().chain([&entry.replaces]).filter(|next| !next.is_empty()) {
                if next != name && found.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
    }
    found
}

/// Finds what the heads of a channel lead to by `replaces` without a bundle.
fn above(channel: &Channel, without: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for head in channel.heads() {
        let mut next = Some(head);
        while let Some(entry) = next.filter(|entry| entry.name != without && found.insert(entry.name.clone())) {
            next = channel.entry(&entry.replaces);
        }
    }
    found
}

/// Gives a bundle the property `olm.deprecated`.
fn mark(package: &mut Package, name: &str) {
    let Some(bundle) = package.bundles.iter_mut().find(|bundle| bundle.name == name && !bundle.is_truncated) else {
        return;
    };
    bundle.is_truncated = true;
    let properties = bundle.blob.members.entry("properties".to_owned()).or_insert(Value::Array(Vec::new()));
    if let Value::Array(properties) = properties {
        properties.push(property("olm.deprecated", Value::Object(Members::new())));
    }
}

fn drop_truncated(package: &mut Package) {
    let truncated: Vec<_> =
        package.bundles.iter().filter(|bundle| bundle.is_truncated).map(|bundle| bundle.name.clone()).collect();
    package.bundles.retain(|bundle| !bundle.is_truncated);
    for channel in &mut package.channels {
        channel.entries.retain(|entry| !truncated.contains(&entry.name));
    }
    package.channels.retain(|channel| !channel.entries.is_empty());
}
