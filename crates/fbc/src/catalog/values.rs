//! Problems of single blobs that cost time to find: schemas nobody knows, values of properties that upstream's decoder
//! refuses. Only a catalog that is built, not one that is reopened, looks for them.

use std::collections::HashSet;

use super::build::Findings;
use super::bundle::Bundle;
use super::property::Property;
use super::shape;
use super::{Catalog, Meta, Package};
use crate::json::Value;
use crate::problem::{Code, Problem};
use crate::quote::go_quote;

/// How much of a blob a message quotes, in bytes.
const QUOTED_BYTES: usize = 256;

/// Adds the problems of single blobs.
pub(super) fn check(catalog: &Catalog, findings: &Findings, problems: &mut Vec<Problem>) {
    check_schemas(catalog, problems);
    for package in catalog.packages() {
        check_icon(package, problems);
    }
    if !findings.misfits.is_empty() {
        catalog.bundles().for_each(|bundle| check_properties(bundle, &findings.misfits, problems));
    }
    if !findings.unknown_modes.is_empty() {
        catalog.bundles().for_each(|bundle| check_install_modes(bundle, &findings.unknown_modes, problems));
    }
}

/// What was found in a property.
fn found_in<'f>(findings: &'f [(u32, String)], property: Property<'_>) -> Option<&'f String> {
    findings.binary_search_by_key(&property.place(), |&(place, _)| place).ok().map(|at| &findings[at].1)
}

/// Every blob without a schema, and the first of each schema that is reserved.
fn check_schemas(catalog: &Catalog, problems: &mut Vec<Problem>) {
    if catalog.schemas.iter().all(|schema| schema.known || !is_odd(&schema.schema)) {
        return;
    }
    let mut seen: HashSet<&str> =
        catalog.schemas.iter().filter(|schema| schema.known).map(|schema| &*schema.schema).collect();
    for meta in (0..catalog.meta_count()).map(|at| catalog.meta_at(at)) {
        let schema = meta.schema();
        if schema.is_empty() {
            let message = format!("object '{}' is missing root schema field", quoted_blob(meta));
            problems.push(Problem::new(Code::SchemaMissing, message).at(meta));
        } else if is_odd(schema) && seen.insert(schema) {
            let (code, what) = if is_template(schema) {
                (Code::SchemaTemplate, "is a template for opm, not a catalog's blob")
            } else {
                (Code::SchemaReserved, "is not known here, and names that begin with \"olm.\" are reserved")
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

/// An icon that upstream's decoder refuses; the package is served without it.
fn check_icon(package: Package<'_>, problems: &mut Vec<Problem>) {
    if let Some(misfit) = shape::misfit(Value(package.meta().blob().raw()), shape::PACKAGE_BLOB) {
        problems.push(Problem {
            package: Some(package.name().into()),
            ..Problem::new(Code::BlobMalformed, format!("parse package: {misfit}")).at(package.meta())
        });
    }
}

/// The first property of a bundle that upstream cannot read, and every inline manifest that is none.
fn check_properties(bundle: Bundle<'_>, misfits: &[(u32, String)], problems: &mut Vec<Problem>) {
    let mut is_reported = false;
    for (at, property) in bundle.properties().enumerate() {
        let Some(misfit) = found_in(misfits, property) else {
            continue;
        };
        let (package, name) = (bundle.package().name(), bundle.name());
        let type_name = property.type_name();
        let message = if type_name == "olm.bundle.object" {
            let (package, name) = (go_quote(package), go_quote(name));
            format!(
                "read bundle objects: package {package}, bundle {name}: \
                 parse property at index {at} as bundle object: {misfit}"
            )
        } else if is_reported {
            continue;
        } else {
            is_reported = true;
            let (name, type_name) = (go_quote(name), go_quote(type_name));
            format!("parse properties for bundle {name}: parse property[{at}] of type {type_name}: {misfit}")
        };
        problems.push(Problem {
            package: Some(package.into()),
            bundle: Some(name.into()),
            ..Problem::new(Code::BundlePropertyMalformed, message).at(bundle.meta())
        });
    }
}

/// The first install mode of each `olm.csv.metadata` that nobody knows.
fn check_install_modes(bundle: Bundle<'_>, unknown: &[(u32, String)], problems: &mut Vec<Problem>) {
    for mode in bundle.properties().filter_map(|property| found_in(unknown, property)) {
        let (package, name) = (bundle.package().name(), bundle.name());
        let message = format!("bundle {} has the unknown install mode {}", go_quote(name), go_quote(mode));
        problems.push(Problem {
            package: Some(package.into()),
            bundle: Some(name.into()),
            ..Problem::new(Code::InstallModeUnknown, message).at(bundle.meta())
        });
    }
}
