//! Operations on a package, its channels and their entries.

use std::collections::HashMap;

use crate::draft::Draft;
use crate::error::{EditError, Refusal};
use crate::operation::{ChannelEntries, EntryFields, PackageFields};
use crate::state::{Entry, Package};
use crate::value::{Members, Value};

/// Returns a package that there is.
pub(crate) fn existing(draft: &mut Draft<'_>, name: &str) -> Result<Package, EditError> {
    if !draft.has_package(name) {
        return Err(EditError::UnknownPackage(name.to_owned()));
    }
    draft.package(name)
}

pub(crate) fn create(draft: &mut Draft<'_>, fields: &PackageFields) -> Result<(), Refusal> {
    if draft.has_package(&fields.package) {
        return Err(EditError::PackageExists(fields.package.clone()).into());
    }
    let mut package = draft.package(&fields.package)?;
    set_fields(&mut package, fields);
    Ok(draft.set_package(package)?)
}

pub(crate) fn set(draft: &mut Draft<'_>, fields: &PackageFields) -> Result<(), Refusal> {
    let mut package = existing(draft, &fields.package)?;
    set_fields(&mut package, fields);
    Ok(draft.set_package(package)?)
}

fn set_fields(package: &mut Package, fields: &PackageFields) {
    let members = package.members();
    for (key, text) in [
        ("defaultChannel", &fields.default_channel),
        ("description", &fields.description),
    ] {
        if let Some(text) = text {
            members.insert(key.to_owned(), Value::text(&**text));
        }
    }
    if let Some(icon) = &fields.icon {
        let icon = [
            ("base64data", &icon.base64data),
            ("mediatype", &icon.mediatype),
        ];
        let icon = icon.map(|(key, text)| (key, Value::text(&**text)));
        members.insert("icon".to_owned(), Value::object(icon));
    }
}

pub(crate) fn add_channel(draft: &mut Draft<'_>, request: &ChannelEntries) -> Result<(), Refusal> {
    let mut package = existing(draft, &request.package)?;
    if package.channel(&request.channel).is_some() {
        let package = request.package.clone();
        let channel = request.channel.clone();
        return Err(EditError::ChannelExists { package, channel }.into());
    }
    package.channel_mut(&request.channel).entries = request.entries.iter().map(entry).collect();
    Ok(draft.set_package(package)?)
}

pub(crate) fn set_entry(draft: &mut Draft<'_>, request: &ChannelEntries) -> Result<(), Refusal> {
    let mut package = existing(draft, &request.package)?;
    if package.channel(&request.channel).is_none() {
        return Err(unknown_channel(&request.package, &request.channel).into());
    }
    let channel = package.channel_mut(&request.channel);
    let mut others: HashMap<String, Members> = channel
        .entries
        .iter()
        .rev()
        .map(|entry| (entry.name.clone(), entry.others.clone()))
        .collect();
    let with_others = |fields: &EntryFields| Entry {
        others: others.remove(&fields.name).unwrap_or_default(),
        ..entry(fields)
    };
    channel.put(request.entries.iter().map(with_others).collect::<Vec<_>>());
    Ok(draft.set_package(package)?)
}

/// Makes a bundle the head of a channel: it replaces the former head.
pub(crate) fn promote(
    draft: &mut Draft<'_>,
    name: &str,
    bundle: &str,
    channel: &str,
) -> Result<(), Refusal> {
    let mut package = existing(draft, name)?;
    if package.bundle(bundle).is_none() {
        return Err(EditError::UnknownBundle {
            package: name.to_owned(),
            bundle: bundle.to_owned(),
        }
        .into());
    }
    let channel = package.channel_mut(channel);
    if channel.entry(bundle).is_none() {
        let heads = channel.heads();
        let replaces = heads
            .first()
            .map(|head| head.name.clone())
            .unwrap_or_default();
        channel.put([Entry {
            name: bundle.to_owned(),
            replaces,
            ..Entry::default()
        }]);
    }
    Ok(draft.set_package(package)?)
}

pub(crate) fn unknown_channel(package: &str, channel: &str) -> EditError {
    EditError::UnknownChannel {
        package: package.to_owned(),
        channel: channel.to_owned(),
    }
}

fn entry(fields: &EntryFields) -> Entry {
    let EntryFields {
        name,
        replaces,
        skips,
        skip_range,
    } = fields.clone();
    Entry {
        name,
        replaces,
        skips,
        skip_range,
        others: Members::new(),
    }
}
