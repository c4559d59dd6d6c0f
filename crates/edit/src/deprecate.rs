//! Deprecates: sets deprecation messages, and truncates packages at bundles.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::bundle::property;
use crate::draft::CatalogDraft;
use crate::draft::{DraftBlob, DraftChannel, DraftPackage};
use crate::error::{BatchError, EditError};
use crate::operation::{Deprecate, DeprecateTruncate, Reference, Undeprecate};
use crate::package::existing_package;
use crate::value::{BlobValue, Members};

/// Sets deprecation messages in the `olm.deprecations` of a package.
pub(crate) fn deprecate(
    draft: &mut CatalogDraft<'_>,
    request: &Deprecate,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, &request.package)?;
    let mut entries = entries(&package);
    let mut indexes: HashMap<Reference, usize> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        indexes.entry(reference_of(entry)).or_insert(index);
    }
    for message in &request.entries {
        let Reference { schema, name } = message.reference.clone();
        if message.message.is_empty() {
            return Err(EditError::NoMessage { schema, name }.into());
        }
        let index = *indexes
            .entry(message.reference.clone())
            .or_insert(entries.len());
        let mut reference: Members = [("schema".to_owned(), BlobValue::text(schema))].into();
        if !name.is_empty() {
            reference.insert("name".to_owned(), BlobValue::text(name));
        }
        let entry = BlobValue::object([
            ("reference", BlobValue::Object(reference)),
            ("message", BlobValue::text(&*message.message)),
        ]);
        match entries.get_mut(index) {
            Some(other) => *other = entry,
            None => entries.push(entry),
        }
    }
    set_entries(&mut package, entries);
    Ok(draft.set_package(package)?)
}

/// Removes deprecation messages, and the `olm.deprecations` when it has none left.
pub(crate) fn undeprecate(
    draft: &mut CatalogDraft<'_>,
    request: &Undeprecate,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, &request.package)?;
    let removed: HashSet<&Reference> = request.references.iter().collect();
    let mut entries = entries(&package);
    entries.retain(|entry| !removed.contains(&reference_of(entry)));
    set_entries(&mut package, entries);
    Ok(draft.set_package(package)?)
}

/// Removes the messages of channels and bundles that a package no longer has, and the
/// `olm.deprecations` when it has none left.
// Messages for what the package never had stay: they are mistakes, which the check of the result
// reports.
pub(crate) fn remove_stale_messages(package: &mut DraftPackage, former: &DraftPackage) {
    let all = entries(package);
    if all.is_empty() {
        return;
    }
    let difference = |former: Vec<&str>, current: Vec<&str>| -> HashSet<String> {
        let current: HashSet<&str> = current.into_iter().collect();
        former
            .into_iter()
            .filter(|name| !current.contains(name))
            .map(str::to_owned)
            .collect()
    };
    let channels = difference(former.channel_names(), package.channel_names());
    let bundles = difference(former.bundle_names(), package.bundle_names());
    let is_stale = |entry: &BlobValue| {
        let Reference { schema, name } = reference_of(entry);
        match &*schema {
            "olm.channel" => channels.contains(&name),
            "olm.bundle" => bundles.contains(&name),
            _ => false,
        }
    };
    let kept: Vec<_> = all
        .iter()
        .filter(|entry| !is_stale(entry))
        .cloned()
        .collect();
    // Unchanged messages keep the bytes of their blob.
    if kept.len() < all.len() {
        set_entries(package, kept);
    }
}

/// Returns the reference of a message; its fields are empty where the entry has none.
fn reference_of(entry: &BlobValue) -> Reference {
    let text = |key: &str| {
        entry
            .get("reference")
            .map(|reference| reference.str(key))
            .unwrap_or_default()
            .to_owned()
    };
    Reference {
        schema: text("schema"),
        name: text("name"),
    }
}

fn entries(package: &DraftPackage) -> Vec<BlobValue> {
    match package
        .deprecations
        .as_ref()
        .and_then(|blob| blob.members.get("entries"))
    {
        Some(BlobValue::Array(entries)) => entries.clone(),
        _ => Vec::new(),
    }
}

fn set_entries(package: &mut DraftPackage, entries: Vec<BlobValue>) {
    if entries.is_empty() {
        package.deprecations = None;
        return;
    }
    let blob = package.deprecations.get_or_insert_with(|| {
        let members = [
            ("schema", BlobValue::text("olm.deprecations")),
            ("package", BlobValue::text(&*package.name)),
        ];
        DraftBlob::new(members.map(|(key, value)| (key.to_owned(), value)).into())
    });
    blob.members_mut()
        .insert("entries".to_owned(), BlobValue::Array(entries));
}

/// Truncates packages at the bundles of some images: the bundles that these replace or skip are
/// removed, and they stay without edges.
pub(crate) fn truncate(
    draft: &mut CatalogDraft<'_>,
    request: &DeprecateTruncate,
) -> Result<(), BatchError> {
    let mut images = request.images.clone();
    let listed: HashSet<&str> = images.iter().map(String::as_str).collect();
    let mut packages = draft.packages_with_images(&listed)?;
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
        remove_whole_packages(draft, &mut packages, &mut images)?;
    }
    let mut errors = Vec::new();
    // Edges are read of the package before all truncations: an earlier one may have removed the
    // edges that lead further down.
    for package in &mut packages {
        let former = package.clone();
        for bundle in bundles_with_images(package, &images) {
            // An earlier truncation may have removed it.
            if package.bundle(&bundle.name).is_some() {
                errors.extend(truncate_at(package, &former, &bundle).err());
            }
        }
        if request.drop_truncated {
            remove_deprecated_bundles(package);
        }
        remove_stale_messages(package, &former);
    }
    BatchError::unless_empty(errors)?;
    for package in packages {
        draft.set_package(package)?;
    }
    Ok(())
}

/// A bundle at which its package is truncated.
struct TruncatedBundle {
    name: String,
    image: String,
}

/// Finds the bundles of some images in a package, each once, in the order of the images.
fn bundles_with_images(package: &DraftPackage, images: &[String]) -> Vec<TruncatedBundle> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    for bundle in &package.bundles {
        names.entry(&bundle.image).or_insert(&bundle.name);
    }
    let found = images.iter().filter_map(|image| {
        Some(TruncatedBundle {
            name: names.remove(&**image)?.to_owned(),
            image: image.clone(),
        })
    });
    found.collect()
}

/// Removes the packages whose default channel's head is listed.
///
/// # Errors
/// If another head of such a package is not listed.
fn remove_whole_packages(
    draft: &mut CatalogDraft<'_>,
    packages: &mut Vec<DraftPackage>,
    images: &mut Vec<String>,
) -> Result<(), BatchError> {
    let mut removed = Vec::new();
    let all_listed: HashSet<&String> = images.iter().collect();
    for package in &*packages {
        let is_listed = |name: &str| {
            package
                .bundle(name)
                .is_some_and(|bundle| all_listed.contains(&bundle.image))
        };
        let default = package.channel(package.default_channel());
        let is_whole =
            default.is_some_and(|channel| channel.heads().iter().any(|head| is_listed(&head.name)));
        if !is_whole {
            continue;
        }
        for channel in &package.channels {
            if let Some(head) = channel
                .heads()
                .into_iter()
                .find(|head| !is_listed(&head.name))
            {
                let image = package
                    .bundle(&head.name)
                    .map(|bundle| bundle.image.clone())
                    .unwrap_or_default();
                return Err(EditError::OtherHeads {
                    package: package.name.clone(),
                    image,
                    channel: channel.name.clone(),
                }
                .into());
            }
        }
        removed.push(package.name.clone());
    }
    for name in removed {
        draft.remove_package(&name);
        let is_removed = |package: &mut DraftPackage| package.name == name;
        for package in packages.extract_if(.., is_removed) {
            let gone: HashSet<&String> =
                package.bundles.iter().map(|bundle| &bundle.image).collect();
            images.retain(|image| !gone.contains(image));
        }
    }
    Ok(())
}

/// Truncates a package at a bundle. `former` is the package before all truncations.
fn truncate_at(
    package: &mut DraftPackage,
    former: &DraftPackage,
    bundle: &TruncatedBundle,
) -> Result<(), EditError> {
    let name = &*bundle.name;
    let tail = tail(former, name);
    let default = package.channel(package.default_channel());
    let heads: Vec<_> = default.map(|channel| channel.heads()).unwrap_or_default();
    if heads
        .iter()
        .any(|head| head.name == name || tail.contains(&head.name))
    {
        return Err(EditError::DeprecatesDefaultChannel(bundle.image.clone()));
    }
    for channel in &mut package.channels {
        if channel.entry(name).is_none() {
            continue;
        }
        let is_head = channel.heads().iter().any(|head| head.name == name);
        let above = above(channel, name);
        // A bundle that a head reaches without passing this one is still needed in the channel.
        let tail: BTreeSet<&String> = tail.iter().filter(|name| !above.contains(*name)).collect();
        channel.entries.retain(|entry| !tail.contains(&entry.name));
        for entry in &mut channel.entries {
            if entry.name == name {
                entry.replaces.clear();
                entry.skips.clear();
                entry.skip_range.clear();
            }
            entry.skips.retain(|skip| !tail.contains(skip));
        }
        // A channel that ends at a deprecated bundle has nothing to upgrade to.
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
    let unused: HashSet<String> = tail
        .iter()
        .map(String::as_str)
        .chain([name])
        .filter(|bundle| !in_use(bundle))
        .map(str::to_owned)
        .collect();
    package
        .bundles
        .retain(|bundle| !unused.contains(&bundle.name));
    mark_deprecated(package, name)
}

/// Finds the bundles below a bundle: those that `replaces` and `skips` reach, in any channel.
fn tail(package: &DraftPackage, name: &str) -> BTreeSet<String> {
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

/// Finds the bundles that `replaces` reaches from the heads of a channel without passing a bundle.
fn above(channel: &DraftChannel, without: &str) -> BTreeSet<String> {
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
fn mark_deprecated(package: &mut DraftPackage, name: &str) -> Result<(), EditError> {
    let Some(bundle) = package
        .bundles
        .iter_mut()
        .find(|bundle| bundle.name == name && !bundle.is_deprecated)
    else {
        return Ok(());
    };
    bundle.is_deprecated = true;
    let members = bundle.blob.members_mut()?;
    // The bundle stays with this property and without edges, so that its successors still have
    // something to replace.
    let properties = members
        .entry("properties".to_owned())
        .or_insert(BlobValue::Array(Vec::new()));
    if let BlobValue::Array(properties) = properties {
        properties.push(property(
            "olm.deprecated",
            BlobValue::Object(Members::new()),
        ));
    }
    Ok(())
}

fn remove_deprecated_bundles(package: &mut DraftPackage) {
    let deprecated: HashSet<_> = package
        .bundles
        .iter()
        .filter(|bundle| bundle.is_deprecated)
        .map(|bundle| bundle.name.clone())
        .collect();
    package.bundles.retain(|bundle| !bundle.is_deprecated);
    for channel in &mut package.channels {
        channel
            .entries
            .retain(|entry| !deprecated.contains(&entry.name));
    }
    package
        .channels
        .retain(|channel| !channel.entries.is_empty());
}
