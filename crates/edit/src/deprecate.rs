//! Deprecation: messages, and truncation at a bundle.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::bundle::property;
use crate::draft::Draft;
use crate::error::{EditError, Refusal};
use crate::operation::{Deprecate, DeprecateTruncate, Reference, Undeprecate};
use crate::package::existing;
use crate::state::{Blob, Channel, Package};
use crate::value::{Members, Value};

/// Sets messages of deprecation, in the package's one `olm.deprecations`.
pub(crate) fn deprecate(draft: &mut Draft<'_>, request: &Deprecate) -> Result<(), Refusal> {
    let mut package = existing(draft, &request.package)?;
    let mut entries = entries(&package);
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        places.entry(reference_of(entry)).or_insert(at);
    }
    for wanted in &request.entries {
        let Reference { schema, name } = wanted.reference.clone();
        if wanted.message.is_empty() {
            return Err(EditError::NoMessage { schema, name }.into());
        }
        let at = *places
            .entry((schema.clone(), name.clone()))
            .or_insert(entries.len());
        let mut reference: Members = [("schema".to_owned(), Value::text(schema))].into();
        if !name.is_empty() {
            reference.insert("name".to_owned(), Value::text(name));
        }
        let entry = Value::object([
            ("reference", Value::Object(reference)),
            ("message", Value::text(&*wanted.message)),
        ]);
        match entries.get_mut(at) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }
    set_entries(&mut package, entries);
    Ok(draft.set_package(package)?)
}

/// Removes messages of deprecation, and the `olm.deprecations` when it has none left.
pub(crate) fn undeprecate(draft: &mut Draft<'_>, request: &Undeprecate) -> Result<(), Refusal> {
    let mut package = existing(draft, &request.package)?;
    let lost: HashSet<(String, String)> = request
        .references
        .iter()
        .cloned()
        .map(|Reference { schema, name }| (schema, name))
        .collect();
    let mut entries = entries(&package);
    entries.retain(|entry| !lost.contains(&reference_of(entry)));
    set_entries(&mut package, entries);
    Ok(draft.set_package(package)?)
}

/// Removes the messages about channels and bundles that a package no longer has, and the
/// `olm.deprecations` when it has none left. Messages about what it did not have before either
/// stay: they are mistakes that are told.
pub(crate) fn drop_lost(package: &mut Package, former: &Package) {
    let all = entries(package);
    if all.is_empty() {
        return;
    }
    let lost = |former: Vec<&str>, current: Vec<&str>| -> HashSet<String> {
        let current: HashSet<&str> = current.into_iter().collect();
        former
            .into_iter()
            .filter(|name| !current.contains(name))
            .map(str::to_owned)
            .collect()
    };
    let channels = lost(former.channel_names(), package.channel_names());
    let bundles = lost(former.bundle_names(), package.bundle_names());
    let is_lost = |entry: &Value| {
        let (schema, name) = reference_of(entry);
        match &*schema {
            "olm.channel" => channels.contains(&name),
            "olm.bundle" => bundles.contains(&name),
            _ => false,
        }
    };
    let kept: Vec<_> = all
        .iter()
        .filter(|entry| !is_lost(entry))
        .cloned()
        .collect();
    if kept.len() < all.len() {
        set_entries(package, kept);
    }
}

/// Returns the schema and the name of what a message is about; empty if there is none.
fn reference_of(entry: &Value) -> (String, String) {
    let text = |key: &str| {
        entry
            .get("reference")
            .map(|reference| reference.str(key))
            .unwrap_or_default()
            .to_owned()
    };
    (text("schema"), text("name"))
}

fn entries(package: &Package) -> Vec<Value> {
    match package
        .deprecations
        .as_ref()
        .and_then(|blob| blob.members.get("entries"))
    {
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
        let members = [
            ("schema", Value::text("olm.deprecations")),
            ("package", Value::text(&*package.name)),
        ];
        Blob::new(members.map(|(key, value)| (key.to_owned(), value)).into())
    });
    blob.members_mut()
        .insert("entries".to_owned(), Value::Array(entries));
}

/// Truncates packages at the bundles of some images: what these replace or skip goes, and they stay
/// without edges.
pub(crate) fn truncate(draft: &mut Draft<'_>, request: &DeprecateTruncate) -> Result<(), Refusal> {
    let mut images = request.images.clone();
    let wanted: HashSet<&str> = images.iter().map(String::as_str).collect();
    let mut packages = draft.with_images(&wanted)?;
    let known: HashSet<String> = packages
        .iter()
        .flat_map(|package| &package.bundles)
        .map(|bundle| bundle.image.clone())
        .collect();
    let (known, unknown): (Vec<_>, Vec<_>) =
        images.into_iter().partition(|image| known.contains(image));
    if !unknown.is_empty() && !request.permissive {
        return Err(EditError::UnknownImages(unknown).into());
    }
    images = known;
    if request.allow_package_removal {
        remove_whole(draft, &mut packages, &mut images)?;
    }
    let mut errors = Vec::new();
    for package in &mut packages {
        let former = package.clone();
        for (name, image) in bundles_of(package, &images) {
            // A truncation above it may have removed it.
            if package.bundle(&name).is_some() {
                errors.extend(truncate_at(package, &former, &name, &image).err());
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
        draft.set_package(package)?;
    }
    Ok(())
}

/// Finds the bundles of some images in a package, each once and with its image, in the order of the
/// images.
fn bundles_of(package: &Package, images: &[String]) -> Vec<(String, String)> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    for bundle in &package.bundles {
        names.entry(&bundle.image).or_insert(&bundle.name);
    }
    let found = images
        .iter()
        .filter_map(|image| Some((names.remove(&**image)?.to_owned(), image.clone())));
    found.collect()
}

/// Removes packages whose default channel's head is listed, if all their heads are.
fn remove_whole(
    draft: &mut Draft<'_>,
    packages: &mut Vec<Package>,
    images: &mut Vec<String>,
) -> Result<(), Refusal> {
    let mut removed = Vec::new();
    let wanted: HashSet<&String> = images.iter().collect();
    for package in &*packages {
        let listed = |name: &str| {
            package
                .bundle(name)
                .is_some_and(|bundle| wanted.contains(&bundle.image))
        };
        let default = package.channel(package.default_channel());
        let is_whole =
            default.is_some_and(|channel| channel.heads().iter().any(|head| listed(&head.name)));
        if !is_whole {
            continue;
        }
        for channel in &package.channels {
            if let Some(head) = channel.heads().into_iter().find(|head| !listed(&head.name)) {
                let image = package
                    .bundle(&head.name)
                    .map(|bundle| bundle.image.clone())
                    .unwrap_or_default();
                let package = package.name.clone();
                let channel = channel.name.clone();
                return Err(EditError::OtherHeads {
                    package,
                    image,
                    channel,
                }
                .into());
            }
        }
        removed.push(package.name.clone());
    }
    for name in removed {
        draft.remove_package(&name);
        let is_removed = |package: &mut Package| package.name == name;
        for package in packages.extract_if(.., is_removed) {
            let gone: HashSet<&String> =
                package.bundles.iter().map(|bundle| &bundle.image).collect();
            images.retain(|image| !gone.contains(image));
        }
    }
    Ok(())
}

fn truncate_at(
    package: &mut Package,
    former: &Package,
    name: &str,
    image: &str,
) -> Result<(), EditError> {
    let tail = tail(former, name);
    let default = package.channel(package.default_channel());
    let heads: Vec<_> = default.map(|channel| channel.heads()).unwrap_or_default();
    if heads
        .iter()
        .any(|head| head.name == name || tail.contains(&head.name))
    {
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
    package
        .channels
        .retain(|channel| !channel.entries.is_empty());
    let in_use = |bundle: &str| {
        package
            .channels
            .iter()
            .any(|channel| channel.entry(bundle).is_some())
    };
    let keep: Vec<bool> = package
        .bundles
        .iter()
        .map(|bundle| in_use(&bundle.name))
        .collect();
    let mut keep = keep.into_iter();
    package.bundles.retain(|bundle| {
        keep.next().unwrap_or(true) || !(tail.contains(&bundle.name) || bundle.name == name)
    });
    mark(package, name)
}

/// Finds everything that a bundle leads to by `replaces` and `skips`, in any channel.
fn tail(package: &Package, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(current) = open.pop() {
        for entry in package
            .channels
            .iter()
            .filter_map(|channel| channel.entry(&current))
        {
            for next in entry
                .skips
                .iter()
                .chain([&entry.replaces])
                .filter(|next| !next.is_empty())
            {
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
        while let Some(entry) =
            next.filter(|entry| entry.name != without && found.insert(entry.name.clone()))
        {
            next = channel.entry(&entry.replaces);
        }
    }
    found
}

/// Gives a bundle the property `olm.deprecated`.
fn mark(package: &mut Package, name: &str) -> Result<(), EditError> {
    let Some(bundle) = package
        .bundles
        .iter_mut()
        .find(|bundle| bundle.name == name && !bundle.is_truncated)
    else {
        return Ok(());
    };
    bundle.is_truncated = true;
    let members = bundle.blob.members_mut()?;
    let properties = members
        .entry("properties".to_owned())
        .or_insert(Value::Array(Vec::new()));
    if let Value::Array(properties) = properties {
        properties.push(property("olm.deprecated", Value::Object(Members::new())));
    }
    Ok(())
}

fn drop_truncated(package: &mut Package) {
    let truncated: Vec<_> = package
        .bundles
        .iter()
        .filter(|bundle| bundle.is_truncated)
        .map(|bundle| bundle.name.clone())
        .collect();
    package.bundles.retain(|bundle| !bundle.is_truncated);
    for channel in &mut package.channels {
        channel
            .entries
            .retain(|entry| !truncated.contains(&entry.name));
    }
    package
        .channels
        .retain(|channel| !channel.entries.is_empty());
}
