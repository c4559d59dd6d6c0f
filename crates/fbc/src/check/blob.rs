//! Checks single blobs: missing, reserved and oddly named schemas, and values that upstream's
//! decoder rejects. Runs only when a catalog is built, not when it is reopened.

use std::collections::HashSet;

use fbc_grammar::go_quote;
use fbc_read::json::JsonValue;
use fbc_read::problem::{Problem, ProblemCode, ProblemCollector, optional_name};

use crate::blobs::Findings;
use crate::bundle::Bundle;
use crate::catalog::{Catalog, Meta};
use crate::go_types;
use crate::package::Package;
use crate::property::Property;
use crate::schema::{CUSTOM_NAME_RULE, TYPED_SCHEMAS, is_custom_name};

/// Maximum number of bytes of a blob that a message quotes.
const QUOTED_BYTES: usize = 256;

/// Adds the problems of single blobs.
pub(super) fn check(catalog: &Catalog, findings: &Findings, problems: &mut ProblemCollector) {
    check_schemas(catalog, problems);
    check_custom_names(catalog, problems);
    for package in catalog.packages() {
        check_icon(package, problems);
    }
    catalog
        .bundles()
        .for_each(|bundle| check_metadata(bundle, problems));
    if !findings.type_mismatches.is_empty() {
        catalog
            .bundles()
            .for_each(|bundle| check_properties(bundle, &findings.type_mismatches, problems));
    }
    if !findings.unknown_modes.is_empty() {
        catalog
            .bundles()
            .for_each(|bundle| check_install_modes(bundle, &findings.unknown_modes, problems));
    }
}

/// Reports every blob without a schema, and the first blob of each reserved schema.
fn check_schemas(catalog: &Catalog, problems: &mut ProblemCollector) {
    if catalog
        .index
        .schemas
        .iter()
        .all(|schema| schema.known || !is_odd(&schema.schema))
    {
        return;
    }
    let mut seen: HashSet<&str> = catalog
        .index
        .schemas
        .iter()
        .filter(|schema| schema.known)
        .map(|schema| &*schema.schema)
        .collect();
    for meta in (0..catalog.meta_count()).map(|at| catalog.meta_at(at)) {
        let schema = meta.schema();
        if schema.is_empty() {
            problems.add(ProblemCode::SchemaMissing, || {
                let message = format!(
                    "object '{}' is missing root schema field",
                    quoted_blob(meta)
                );
                Problem::new(ProblemCode::SchemaMissing, message).at(meta.file(), meta.line())
            });
        } else if is_odd(schema) && seen.insert(schema) {
            let (code, what) = if is_template(schema) {
                (
                    ProblemCode::SchemaTemplate,
                    "is a template for opm, not a catalog's blob",
                )
            } else {
                (
                    ProblemCode::SchemaReserved,
                    "is not known here, and names that begin with \"olm.\" are reserved",
                )
            };
            problems.add(code, || {
                Problem::new(code, format!("schema {} {what}", go_quote(schema)))
                    .at(meta.file(), meta.line())
            });
        }
    }
}

/// Reports the first blob of each custom schema, and of each package in such blobs, with a name
/// that `opm serve` refuses.
fn check_custom_names(catalog: &Catalog, problems: &mut ProblemCollector) {
    if catalog
        .schemas()
        .iter()
        .all(|schema| TYPED_SCHEMAS.contains(&&*schema.schema))
    {
        return;
    }
    let mut schemas = HashSet::new();
    let mut packages = HashSet::new();
    let is_invalid = |name: &str| !name.is_empty() && !is_custom_name(name);
    for meta in (0..catalog.meta_count()).map(|at| catalog.meta_at(at)) {
        let schema = meta.schema();
        let package = meta.package_name().unwrap_or_default();
        if TYPED_SCHEMAS.contains(&schema) {
            continue;
        }
        if is_invalid(schema) && schemas.insert(schema) {
            add_custom_name(
                meta,
                &format!("custom schema {}", go_quote(schema)),
                problems,
            );
        }
        if is_invalid(package) && packages.insert(package) {
            let what = format!(
                "package {} of a blob of schema {}",
                go_quote(package),
                go_quote(schema)
            );
            add_custom_name(meta, &what, problems);
        }
    }
}

fn add_custom_name(meta: Meta<'_>, what: &str, problems: &mut ProblemCollector) {
    problems.add(ProblemCode::SchemaNameInvalid, || {
        let message = format!(
            "{what} does not match {CUSTOM_NAME_RULE}: `opm serve` does not serve the catalog, and clients of OLM v0 cannot \
             ask for the blob over gRPC"
        );
        Problem::new(ProblemCode::SchemaNameInvalid, message).at(meta.file(), meta.line())
    });
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
    let end = (0..=QUOTED_BYTES)
        .rev()
        .find(|&at| blob.is_char_boundary(at))
        .unwrap_or_default();
    format!("{}…", &blob[..end])
}

/// Reports an icon that upstream's decoder rejects; the package is served without it.
fn check_icon(package: Package<'_>, problems: &mut ProblemCollector) {
    if let Some(mismatch) = go_types::find_mismatch(
        JsonValue::new(package.meta().blob().raw()),
        go_types::PACKAGE_BLOB,
    ) {
        problems.add(ProblemCode::BlobMalformed, || Problem {
            package: optional_name(package.name()),
            ..Problem::new(
                ProblemCode::BlobMalformed,
                format!("parse package: {mismatch}"),
            )
            .at(package.meta().file(), package.meta().line())
        });
    }
}

/// Reports the first property of a bundle that upstream cannot decode, and every malformed inline
/// manifest.
fn check_properties(bundle: Bundle<'_>, type_mismatches: &[u32], problems: &mut ProblemCollector) {
    let mut is_reported = false;
    for (at, property) in bundle.properties().enumerate() {
        let is_object = property.type_name() == "olm.bundle.object";
        if type_mismatches.binary_search(&property.place()).is_err() || is_reported && !is_object {
            continue;
        }
        is_reported |= !is_object;
        problems.add(ProblemCode::BundlePropertyMalformed, || {
            let package = go_quote(bundle.package().name());
            let name = go_quote(bundle.name());
            let type_name = go_quote(property.type_name());
            let mismatch = mismatch_of(property);
            let message = if is_object {
                format!(
                    "read bundle objects: package {package}, bundle {name}: \
                     parse property at index {at} as bundle object: {mismatch}"
                )
            } else {
                format!("parse properties for bundle {name}: parse property[{at}] of type {type_name}: {mismatch}")
            };
            problem_in(bundle, ProblemCode::BundlePropertyMalformed, message)
        });
    }
}

/// Returns Go's message for a property that cannot be decoded. Only properties with a problem that
/// is listed are checked a second time: as many messages as properties would take more memory than
/// the properties.
fn mismatch_of(property: Property<'_>) -> String {
    let Some(value) = property.value() else {
        return go_types::VALUE_MISSING.to_owned();
    };
    let (mismatch, _) = go_types::check_property(property.type_name(), JsonValue::new(value.raw()));
    // Of several values with alike keys the last is kept, which may be the one that can be decoded.
    mismatch.unwrap_or_else(|| "a value has the wrong type".to_owned())
}

/// Reports a bundle of which upstream's gRPC server cannot tell what to show.
fn check_metadata(bundle: Bundle<'_>, problems: &mut ProblemCollector) {
    if bundle.has_several_metadata() {
        problems.add(ProblemCode::BundleMetadataDuplicate, || {
            let name = go_quote(bundle.name());
            let message = format!(
                "bundle {name} has several properties of type \"olm.csv.metadata\", and OLM v0 expects one: its package is \
                 not served over gRPC"
            );
            problem_in(bundle, ProblemCode::BundleMetadataDuplicate, message)
        });
    }
}

/// Reports the first unknown install mode of each `olm.csv.metadata`.
fn check_install_modes(bundle: Bundle<'_>, unknown: &[u32], problems: &mut ProblemCollector) {
    for property in bundle
        .properties()
        .filter(|property| unknown.binary_search(&property.place()).is_ok())
    {
        problems.add(ProblemCode::InstallModeUnknown, || {
            let value = property.value().map(|value| {
                go_types::check_property(property.type_name(), JsonValue::new(value.raw()))
            });
            let mode = value.and_then(|(_, mode)| mode).unwrap_or_default();
            let message = format!(
                "bundle {} has the unknown install mode {}",
                go_quote(bundle.name()),
                go_quote(&mode)
            );
            problem_in(bundle, ProblemCode::InstallModeUnknown, message)
        });
    }
}

/// Creates a problem of a bundle.
fn problem_in(bundle: Bundle<'_>, code: ProblemCode, message: String) -> Problem {
    Problem {
        package: optional_name(bundle.package().name()),
        bundle: optional_name(bundle.name()),
        ..Problem::new(code, message).at(bundle.meta().file(), bundle.meta().line())
    }
}
