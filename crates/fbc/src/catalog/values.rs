//! Validates single blobs: missing and reserved schemas, and values that upstream's decoder rejects. Runs only when a
//! catalog is built, not when it is reopened.

use std::collections::HashSet;

use super::build::Findings;
use super::bundle::Bundle;
use super::go_types;
use super::property::Property;
use super::{Catalog, Meta, Package};
use crate::json::RawValue;
use crate::problem::{Problem, ProblemCode};
use crate::quote::go_quote;

/// Maximum number of bytes of a blob that a message quotes.
const QUOTED_BYTES: usize = 256;

/// Adds the problems of single blobs.
pub(super) fn check(catalog: &Catalog, findings: &Findings, problems: &mut Vec<Problem>) {
    check_schemas(catalog, problems);
    for package in catalog.packages() {
        check_icon(package, problems);
    }
    if !findings.type_mismatches.is_empty() {
        catalog.bundles().for_each(|bundle| check_properties(bundle, &findings.type_mismatches, problems));
    }
    if !findings.unknown_modes.is_empty() {
        catalog.bundles().for_each(|bundle| check_install_modes(bundle, &findings.unknown_modes, problems));
    }
}

/// Returns the finding about a property, if any.
fn finding_of<'f>(findings: &'f [(u32, String)], property: Property<'_>) -> Option<&'f String> {
    findings.binary_search_by_key(&property.place(), |&(place, _)| place).ok().map(|at| &findings[at].1)
}

/// Reports every blob without a schema, and the first blob of each reserved schema.
fn check_schemas(catalog: &Catalog, problems: &mut Vec<Problem>) {
    if catalog.index.schemas.iter().all(|schema| schema.known || !is_odd(&schema.schema)) {
        return;
    }
    let mut seen: HashSet<&str> =
        catalog.index.schemas.iter().filter(|schema| schema.known).map(|schema| &*schema.schema).collect();
    for meta in (0..catalog.meta_count()).map(|at| catalog.meta_at(at)) {
        let schema = meta.schema();
        if schema.is_empty() {
            let message = format!("object '{}' is missing root schema field", quoted_blob(meta));
            problems.push(Problem::new(ProblemCode::SchemaMissing, message).at(meta));
        } else if is_odd(schema) && seen.insert(schema) {
            let (code, what) = if is_template(schema) {
                (ProblemCode::SchemaTemplate, "is a template for opm, not a catalog's blob")
            } else {
                (ProblemCode::SchemaReserved, "is not known here, and names that begin with \"olm.\" are reserved")
            };
            problems.push(Problem::new(code, format!("schema {} {what}", go_quote(schema))).at(meta));
        }
    }
}

fn is_odd(schema: &str) -> bool {
    schema.is_empty() || schema.starts_with("olm.")
}

fn is_template(schema: &str) -> bool {
    let is_composite = schema == "olm.composite" || schema.starts_with("olm.composite.");
    is_composite || schema == "olm.semver" || schema.starts_with("olm.template.")
}

fn quoted_blob(meta: Meta<'_>) -> String {
    let blob = String::from_utf8_lossy(meta.blob().raw());
    if blob.len() <= QUOTED_BYTES {
        return format!("{blob}\n");
    }
    let end = (0..=QUOTED_BYTES).rev().find(|&at| blob.is_char_boundary(at)).unwrap_or_default();
    format!("{}…", &blob[..end])
}

/// Reports an icon that upstream's decoder rejects; the package is served without it.
fn check_icon(package: Package<'_>, problems: &mut Vec<Problem>) {
    if let Some(mismatch) = go_types::find_mismatch(RawValue(package.meta().blob().raw()), go_types::PACKAGE_BLOB) {
        problems.push(Problem {
            package: Some(package.name().into()),
            ..Problem::new(ProblemCode::BlobMalformed, format!("parse package: {mismatch}")).at(package.meta())
        });
    }
}

/// Reports the first property of a bundle that upstream cannot decode, and every malformed inline manifest.
fn check_properties(bundle: Bundle<'_>, type_mismatches: &[(u32, String)], problems: &mut Vec<Problem>) {
    let mut is_reported = false;
    for (at, property) in bundle.properties().enumerate() {
        let Some(mismatch) = finding_of(type_mismatches, property) else {
            continue;
        };
        let (package, name) = (bundle.package().name(), bundle.name());
        let type_name = property.type_name();
        let message = if type_name == "olm.bundle.object" {
            let (package, name) = (go_quote(package), go_quote(name));
            format!(
                "read bundle objects: package {package}, bundle {name}: \
                 parse property at index {at} as bundle object: {mismatch}"
            )
        } else if is_reported {
            continue;
        } else {
            is_reported = true;
            let (name, type_name) = (go_quote(name), go_quote(type_name));
            format!("parse properties for bundle {name}: parse property[{at}] of type {type_name}: {mismatch}")
        };
        problems.push(Problem {
            package: Some(package.into()),
            bundle: Some(name.into()),
            ..Problem::new(ProblemCode::BundlePropertyMalformed, message).at(bundle.meta())
        });
    }
}

/// Reports the first unknown install mode of each `olm.csv.metadata`.
fn check_install_modes(bundle: Bundle<'_>, unknown: &[(u32, String)], problems: &mut Vec<Problem>) {
    for mode in bundle.properties().filter_map(|property| finding_of(unknown, property)) {
        let (package, name) = (bundle.package().name(), bundle.name());
        let message = format!("bundle {} has the unknown install mode {}", go_quote(name), go_quote(mode));
        problems.push(Problem {
            package: Some(package.into()),
            bundle: Some(name.into()),
            ..Problem::new(ProblemCode::InstallModeUnknown, message).at(bundle.meta())
        });
    }
}
