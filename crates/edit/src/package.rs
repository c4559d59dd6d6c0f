//! Operations on a package, its channels and their entries.

use crate::content::Content;
use crate::error::{EditError, Refusal};
use crate::operation::{ChannelEntries, EntryFields, PackageFields};
use crate::state::{Entry, Package};
use crate::value::{Members, Value};

/// Returns a package that there is.
pub(crate) fn existing(content: &Content, name: &str) -> Result<Package, EditError> {
    if !content.has_package(name) {
        return Err(EditError::UnknownPackage(name.to_owned()));
    }
    content.package(name)
}

pub(crate) fn create(content: &mut Content, fields: &PackageFields) -> Result<(), Refusal> {
    if content.has_package(&fields.package) {
        return Err(EditError::PackageExists(fields.package.clone()).into());
    }
    let mut package = content.package(&fields.package)?;
    set_fields(&mut package, fields);
    Ok(content.set_package(&package)?)
}

pub(crate) fn set(content: &mut Content, fields: &PackageFields) -> Result<(), Refusal> {
    let mut package = existing(content, &fields.package)?;
    set_fields(&mut package, fields);
    Ok(content.set_package(&package)?)
}

fn set_fields(package: &mut Package, fields: &PackageFields) {
    let members = package.members();
    for (key, text) in [("defaultChannel", &fields.default_channel), ("description", &fields.description)] {
        if let Some(text) = text {
            members.insert(key.to_owned(), Value::text(&**text));
        }
    }
    if let Some(icon) = &fields.icon {
        let icon = [("base64data", &icon.base64data), ("mediatype", &icon.mediatype)];
        let icon = icon.map(|(key, text)| (key, Value::text(&**text)));
        members.insert("icon".to_owned(), Value::object(icon));
    }
}

pub(crate) fn add_channel(content: &mut Content, request: &ChannelEntries) -> Result<(), Refusal> {
    let mut package = existing(content, &request.package)?;
    if package.channel(&request.channel).is_some() {
        let (package, channel) = (request.package.clone(), request.channel.clone());
        return Err(EditError::ChannelExists { package, channel }.into());
    }
    package.channel_mut(&request.channel).entries = request.entries.iter().map(entry).collect();
    Ok(content.set_package(&package)?)
}

pub(crate) fn set_entry(content: &mut Content, request: &ChannelEntries) -> Result<(), Refusal> {
    let mut package = existing(content, &request.package)?;
    if package.channel(&request.channel).is_none() {
        return Err(unknown_channel(&request.package, &request.channel).into());
    }
    let channel = package.channel_mut(&request.channel);
    for fields in &request.entries {
        let others = channel.entry(&fields.name).map(|entry| entry.others.clone()).unwrap_or_default();
        channel.put(Entry { others, ..entry(fields) });
    }
    Ok(content.set_package(&package)?)
}

/// Makes a bundle the head of a channel: it replaces the former head.
pub(crate) fn promote(content: &mut Content, name: &str, bundle: &str, channel: &str) -> Result<(), Refusal> {
    let mut package = existing(content, name)?;
    if package.bundle(bundle).is_none() {
        return Err(EditError::UnknownBundle { package: name.to_owned(), bundle: bundle.to_owned() }.into());
    }
    let channel = package.channel_mut(channel);
    if channel.entry(bundle).is_none() {
        let heads = channel.heads();
        let replaces = heads.first().map(|head| head.name.clone()).unwrap_or_default();
        channel.put(Entry { name: bundle.to_owned(), replaces, ..Entry::default() });
    }
    Ok(content.set_package(&package)?)
}

pub(crate) fn unknown_channel(package: &str, channel: &str) -> EditError {
    EditError::UnknownChannel { package: package.to_owned(), channel: channel.to_owned() }
}

fn entry(fields: &EntryFields) -> Entry {
    let EntryFields { name, replaces, skips, skip_range } = fields.clone();
    Entry { name, replaces, skips, skip_range, others: Members::new() }
}
