//! Rules of deprecations: each names something of its package, once, and says why.
//!
//! The index keeps only what is deprecated; what names nothing is in the blobs alone, so they are read again.

use std::collections::HashSet;

use super::Place;
use crate::catalog::decode::{Body, Checks, Decoder, DeprecationEntry};
use crate::catalog::names::Names;
use crate::catalog::{Bundle, Catalog, Meta, Package};
use crate::problem::{Code, Problem};
use crate::quote::go_quote;

const SCHEMA: &str = "olm.deprecations";

pub(super) fn check(catalog: &Catalog, problems: &mut Vec<Problem>) {
    if !catalog.schemas.iter().any(|schema| &*schema.schema == SCHEMA) {
        return;
    }
    let mut seen = HashSet::new();
    for meta in (0..catalog.meta_count()).map(|at| catalog.meta_at(at)) {
        if meta.schema() != SCHEMA {
            continue;
        }
        let mut decoder = Decoder::new(Checks::Done);
        // A blob of another shape was told as malformed, and does not count.
        let Ok(Body::Deprecations(entries)) = decoder.decode(meta.blob().raw()).map(|blob| blob.body) else {
            continue;
        };
        let package = meta.package_name().and_then(|name| catalog.package(name));
        if let Some(package) = package.filter(|package| seen.insert(package.name())) {
            check_entries(package, meta, &entries, &decoder.names.finish(), problems);
        }
    }
}

/// What a deprecation is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Reference<'a> {
    schema: &'a str,
    name: &'a str,
}

fn check_entries(
    package: Package<'_>,
    meta: Meta<'_>,
    entries: &[DeprecationEntry],
    names: &Names,
    problems: &mut Vec<Problem>,
) {
    let mut seen = HashSet::new();
    for (at, entry) in entries.iter().enumerate() {
        let reference = Reference { schema: names.get(entry.schema), name: names.get(entry.name) };
        let place = Place { meta, ..Place::of_package(package) };
        let fault = if !reference.schema.is_empty() && !seen.insert(reference) {
            let (reference, package) = (reference.in_go(), go_quote(place.package));
            let message = format!("duplicate deprecation entry {reference} for package {package}");
            Some((Code::DeprecationEntryDuplicate, message))
        } else {
            reference.fault(at, package)
        };
        if let Some((code, message)) = fault {
            problems.push(reference.place(place).problem(code, message));
        } else if is_message_empty(entry, meta) {
            tell_missing_message(reference, package, place, problems);
        }
    }
}

impl<'a> Reference<'a> {
    /// Why it is no reference to something of the package; `at` is its place in the blob, from 0.
    fn fault(self, at: usize, package: Package<'_>) -> Option<(Code, String)> {
        let (quoted, name) = (go_quote(package.name()), go_quote(self.name));
        let message = match self.schema {
            "" => {
                let message = format!("schema must be set for deprecation entry [{at}] for package {quoted}");
                (Code::DeprecationSchemaMissing, message)
            }
            "olm.package" if self.name.is_empty() => return None,
            "olm.package" => {
                let message = format!("package name must be empty for deprecated package {quoted} (specified {name})");
                (Code::DeprecationPackageNamed, message)
            }
            // An undeclared default channel can be deprecated, because upstream makes it up.
            "olm.channel" if package.channel(self.name).is_some() => return None,
            "olm.channel" if !self.name.is_empty() && self.name == package.default_channel_name() => {
                return None;
            }
            "olm.channel" => {
                let message = format!("cannot deprecate channel {name} for package {quoted}: channel not found");
                (Code::DeprecationChannelUnknown, message)
            }
            "olm.bundle" if package.bundle(self.name).is_some() => return None,
            "olm.bundle" => {
                let message = format!("cannot deprecate bundle {name} for package {quoted}: bundle not found");
                (Code::DeprecationBundleUnknown, message)
            }
            _ => {
                let message = format!(
                    "cannot deprecate object {} referenced by entry {at} for package {quoted}: object schema unknown",
                    self.in_go(),
                );
                (Code::DeprecationSchemaUnknown, message)
            }
        };
        Some(message)
    }

    /// The reference as Go's `%#v` writes it.
    fn in_go(self) -> String {
        let (schema, name) = (go_quote(self.schema), go_quote(self.name));
        format!("declcfg.PackageScopedReference{{Schema:{schema}, Name:{name}}}")
    }

    /// Where it points, in its package.
    fn place(self, place: Place<'a>) -> Place<'a> {
        match self.schema {
            "olm.channel" => Place { channel: self.name, ..place },
            "olm.bundle" => Place { bundle: self.name, ..place },
            _ => place,
        }
    }
}

fn is_message_empty(entry: &DeprecationEntry, meta: Meta<'_>) -> bool {
    let start = entry.message.start as usize;
    let text = &meta.blob().raw()[start..start + entry.message.len as usize];
    text.is_empty() || text == b"\"\""
}

/// Upstream tells it of a bundle once for each of its channels.
fn tell_missing_message<'a>(
    reference: Reference<'a>,
    package: Package<'a>,
    place: Place<'a>,
    problems: &mut Vec<Problem>,
) {
    let place = reference.place(place);
    let bundle = package.bundle(reference.name).filter(|_| reference.schema == "olm.bundle");
    let mut places: Vec<Place<'_>> = bundle
        .into_iter()
        .flat_map(Bundle::channel_entries)
        .map(|entry| Place { channel: entry.channel().name(), ..place })
        .collect();
    if places.is_empty() {
        places.push(place);
    }
    let message = "invalid deprecation: message must be set";
    problems.extend(places.into_iter().map(|place| place.problem(Code::DeprecationMessageMissing, message)));
}
