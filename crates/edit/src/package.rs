//! Changes the fields of packages, and the entries of their channels.

use std::collections::HashMap;

use crate::draft::CatalogDraft;
use crate::draft::{DraftEntry, DraftPackage};
use crate::error::{BatchError, EditError};
use crate::operation::{ChannelEntries, EntryFields, PackageFields};
use crate::value::{BlobValue, Members};

/// Returns a copy of a package, which must exist.
pub(crate) fn existing_package(
    draft: &mut CatalogDraft<'_>,
    name: &str,
) -> Result<DraftPackage, EditError> {
    if !draft.has_package(name) {
        return Err(EditError::UnknownPackage(name.to_owned()));
    }
    draft.package(name)
}

pub(crate) fn create_package(
    draft: &mut CatalogDraft<'_>,
    fields: &PackageFields,
) -> Result<(), BatchError> {
    if draft.has_package(&fields.package) {
        return Err(EditError::PackageExists(fields.package.clone()).into());
    }
    let mut package = draft.package(&fields.package)?;
    set_fields(&mut package, fields);
    Ok(draft.set_package(package)?)
}

pub(crate) fn set_package(
    draft: &mut CatalogDraft<'_>,
    fields: &PackageFields,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, &fields.package)?;
    set_fields(&mut package, fields);
    Ok(draft.set_package(package)?)
}

fn set_fields(package: &mut DraftPackage, fields: &PackageFields) {
    let members = package.members();
    for (key, text) in [
        ("defaultChannel", &fields.default_channel),
        ("description", &fields.description),
    ] {
        if let Some(text) = text {
            members.insert(key.to_owned(), BlobValue::text(&**text));
        }
    }
    if let Some(icon) = &fields.icon {
        let icon = [
            ("base64data", &icon.base64data),
            ("mediatype", &icon.mediatype),
        ];
        let icon = icon.map(|(key, text)| (key, BlobValue::text(&**text)));
        members.insert("icon".to_owned(), BlobValue::object(icon));
    }
}

pub(crate) fn add_channel(
    draft: &mut CatalogDraft<'_>,
    request: &ChannelEntries,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, &request.package)?;
    if package.channel(&request.channel).is_some() {
        return Err(EditError::ChannelExists {
            package: request.package.clone(),
            channel: request.channel.clone(),
        }
        .into());
    }
    package.channel_mut(&request.channel).entries = request.entries.iter().map(entry).collect();
    Ok(draft.set_package(package)?)
}

pub(crate) fn set_entry(
    draft: &mut CatalogDraft<'_>,
    request: &ChannelEntries,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, &request.package)?;
    if package.channel(&request.channel).is_none() {
        return Err(unknown_channel(&request.package, &request.channel).into());
    }
    let channel = package.channel_mut(&request.channel);
    // The request has no member for other fields of an entry, so that they stay.
    let mut others: HashMap<String, Members> = channel
        .entries
        .iter()
        .rev()
        .map(|entry| (entry.name.clone(), entry.others.clone()))
        .collect();
    let with_others = |fields: &EntryFields| DraftEntry {
        others: others.remove(&fields.name).unwrap_or_default(),
        ..entry(fields)
    };
    channel.put(request.entries.iter().map(with_others).collect::<Vec<_>>());
    Ok(draft.set_package(package)?)
}

/// Makes a bundle the head of a channel; it replaces the former head.
pub(crate) fn promote(
    draft: &mut CatalogDraft<'_>,
    name: &str,
    bundle: &str,
    channel: &str,
) -> Result<(), BatchError> {
    let mut package = existing_package(draft, name)?;
    if package.bundle(bundle).is_none() {
        return Err(unknown_bundle(name, bundle).into());
    }
    let entries = package.channel_mut(channel);
    let heads = entries.heads();
    let is_head = heads.iter().any(|head| head.name == bundle);
    let replaces = heads.first().map(|head| head.name.clone());
    let replaces = replaces.unwrap_or_default();
    if entries.entry(bundle).is_some() && !is_head {
        return Err(EditError::BelowHead {
            bundle: bundle.to_owned(),
            channel: channel.to_owned(),
            head: replaces,
        }
        .into());
    }
    // Promoting the head again changes nothing.
    if !is_head {
        entries.put([DraftEntry {
            name: bundle.to_owned(),
            replaces,
            ..DraftEntry::default()
        }]);
    }
    Ok(draft.set_package(package)?)
}

pub(crate) fn unknown_bundle(package: &str, bundle: &str) -> EditError {
    EditError::UnknownBundle {
        package: package.to_owned(),
        bundle: bundle.to_owned(),
    }
}

pub(crate) fn unknown_channel(package: &str, channel: &str) -> EditError {
    EditError::UnknownChannel {
        package: package.to_owned(),
        channel: channel.to_owned(),
    }
}

fn entry(fields: &EntryFields) -> DraftEntry {
    let EntryFields {
        name,
        replaces,
        skips,
        skip_range,
    } = fields.clone();
    DraftEntry {
        name,
        replaces,
        skips,
        skip_range,
        others: Members::new(),
    }
}
