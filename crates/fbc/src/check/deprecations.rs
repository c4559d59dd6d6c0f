//! Validates deprecations: each entry must name an existing object of its package, once, and have a
//! message.
//!
//! The index holds only the entries that name an existing object, so the blobs are decoded again
//! here.

use std::collections::HashSet;

use fbc_grammar::go_quote;
use fbc_read::problem::{ProblemCode, ProblemCollector};

use super::location::ProblemLocation;
use crate::bundle::Bundle;
use crate::catalog::{Catalog, Meta};
use crate::decode::{BlobBody, Checks, DecodedDeprecation, Decoder};
use crate::names::NameTable;
use crate::package::Package;

const SCHEMA: &str = "olm.deprecations";

pub(super) fn check(catalog: &Catalog, problems: &mut ProblemCollector) {
    if !catalog
        .index
        .schemas
        .iter()
        .any(|schema| &*schema.schema == SCHEMA)
    {
        return;
    }
    let mut seen = HashSet::new();
    for meta in (0..catalog.meta_count()).map(|at| catalog.meta_at(at)) {
        if meta.schema() != SCHEMA {
            continue;
        }
        let mut decoder = Decoder::new(Checks::Done);
        // Blobs of another type are reported as malformed elsewhere.
        let Ok(BlobBody::Deprecations(entries)) =
            decoder.decode(meta.blob().raw()).map(|blob| blob.body)
        else {
            continue;
        };
        let package = meta.package_name().and_then(|name| catalog.package(name));
        if let Some(package) = package.filter(|package| seen.insert(package.name())) {
            check_entries(package, meta, &entries, &decoder.names.finish(), problems);
        }
    }
}

/// Reference of a deprecation entry to the deprecated object.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct DeprecationReference<'a> {
    schema: &'a str,
    name: &'a str,
}

fn check_entries(
    package: Package<'_>,
    meta: Meta<'_>,
    entries: &[DecodedDeprecation],
    names: &NameTable,
    problems: &mut ProblemCollector,
) {
    let mut seen = HashSet::new();
    for (at, entry) in entries.iter().enumerate() {
        let reference = DeprecationReference {
            schema: names.get(entry.schema),
            name: names.get(entry.name),
        };
        let location = ProblemLocation {
            meta,
            ..ProblemLocation::new_in_package(package)
        };
        let problem = if !reference.schema.is_empty() && !seen.insert(reference) {
            let reference = reference.in_go();
            let package = go_quote(location.package);
            let message = format!("duplicate deprecation entry {reference} for package {package}");
            Some((ProblemCode::DeprecationEntryDuplicate, message))
        } else {
            reference.find_problem(at, package)
        };
        if let Some((code, message)) = problem {
            problems.add(code, || reference.location(location).problem(code, message));
        } else if is_message_empty(entry, meta) {
            report_missing_message(reference, package, location, problems);
        }
    }
}

impl<'a> DeprecationReference<'a> {
    /// Returns the problem of a reference to no object of the package; `at` is the index of the
    /// entry in its blob.
    fn find_problem(self, at: usize, package: Package<'_>) -> Option<(ProblemCode, String)> {
        let quoted = go_quote(package.name());
        let name = go_quote(self.name);
        let message = match self.schema {
            "" => {
                let message =
                    format!("schema must be set for deprecation entry [{at}] for package {quoted}");
                (ProblemCode::DeprecationSchemaMissing, message)
            }
            "olm.package" if self.name.is_empty() => return None,
            "olm.package" => {
                let message = format!(
                    "package name must be empty for deprecated package {quoted} (specified {name})"
                );
                (ProblemCode::DeprecationPackageNamed, message)
            }
            // An undeclared default channel can be deprecated, because upstream makes it up.
            "olm.channel" if package.channel(self.name).is_some() => return None,
            "olm.channel"
                if !self.name.is_empty() && self.name == package.default_channel_name() =>
            {
                return None;
            }
            "olm.channel" => {
                let message = format!(
                    "cannot deprecate channel {name} for package {quoted}: channel not found"
                );
                (ProblemCode::DeprecationChannelUnknown, message)
            }
            "olm.bundle" if package.bundle(self.name).is_some() => return None,
            "olm.bundle" => {
                let message = format!(
                    "cannot deprecate bundle {name} for package {quoted}: bundle not found"
                );
                (ProblemCode::DeprecationBundleUnknown, message)
            }
            _ => {
                let message = format!(
                    "cannot deprecate object {} referenced by entry {at} for package {quoted}: object schema unknown",
                    self.in_go(),
                );
                (ProblemCode::DeprecationSchemaUnknown, message)
            }
        };
        Some(message)
    }

    /// The reference as Go's `%#v` writes it.
    fn in_go(self) -> String {
        let schema = go_quote(self.schema);
        let name = go_quote(self.name);
        format!("declcfg.PackageScopedReference{{Schema:{schema}, Name:{name}}}")
    }

    /// Returns the location of the referenced object in its package.
    fn location(self, location: ProblemLocation<'a>) -> ProblemLocation<'a> {
        match self.schema {
            "olm.channel" => ProblemLocation {
                channel: self.name,
                ..location
            },
            "olm.bundle" => ProblemLocation {
                bundle: self.name,
                ..location
            },
            _ => location,
        }
    }
}

fn is_message_empty(entry: &DecodedDeprecation, meta: Meta<'_>) -> bool {
    let start = entry.message.start as usize;
    let text = &meta.blob().raw()[start..start + entry.message.len as usize];
    text.is_empty() || text == b"\"\""
}

/// Upstream tells it of a bundle once for each of its channels.
fn report_missing_message<'a>(
    reference: DeprecationReference<'a>,
    package: Package<'a>,
    location: ProblemLocation<'a>,
    problems: &mut ProblemCollector,
) {
    let location = reference.location(location);
    let bundle = package
        .bundle(reference.name)
        .filter(|_| reference.schema == "olm.bundle");
    let mut channels = bundle
        .into_iter()
        .flat_map(Bundle::channel_entries)
        .map(|entry| entry.channel().name())
        .peekable();
    let message = "invalid deprecation: message must be set";
    let mut report = |location: ProblemLocation<'_>| {
        problems.add(ProblemCode::DeprecationMessageMissing, || {
            location.problem(ProblemCode::DeprecationMessageMissing, message)
        });
    };
    if channels.peek().is_none() {
        return report(location);
    }
    channels.for_each(|channel| {
        report(ProblemLocation {
            channel,
            ..location
        });
    });
}
