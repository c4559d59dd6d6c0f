//! The rows of a catalog, in the order of its packages, and of their channels and bundles.

use std::borrow::Cow;
use std::io::Write;

use fbc::{
    Bundle, Catalog, Deprecation, Head, Package, Property, PropertyKind, REQUIREMENT_TYPES,
    Requirement, RequirementRule,
};
use fbc_grammar::image::ImageReference;
use fbc_read::Severity;
use fbc_read::json::{JsonText, JsonValue};
use fbc_read::manifest::Manifests;

use crate::file::TableFile;
use crate::table::{
    ApiRow, BundleRow, ChannelRow, ContentRow, DeprecationRow, EntryRow, ExportTable, ImageRow,
    PackageRow, ProblemRow, PropertyRow, RequirementRow,
};
use crate::{ExportError, ExportedContent};

/// Writes a table of a content.
pub(crate) fn write<W: Write + Send>(
    table: ExportTable,
    content: &ExportedContent<'_>,
    out: W,
) -> Result<W, ExportError> {
    let mut file = TableFile::new(table, content, out)?;
    let catalog = content.catalog;
    match table {
        ExportTable::Packages => write_packages(catalog, &mut file)?,
        ExportTable::Channels => write_channels(catalog, &mut file)?,
        ExportTable::Entries => write_entries(catalog, &mut file)?,
        ExportTable::Bundles => write_bundles(catalog, &mut file)?,
        ExportTable::Properties => write_properties(catalog, &mut file)?,
        ExportTable::Images => write_images(catalog, &mut file)?,
        ExportTable::Apis => write_apis(catalog, &mut file)?,
        ExportTable::Requirements => write_requirements(catalog, &mut file)?,
        ExportTable::Deprecations => write_deprecations(catalog, &mut file)?,
        ExportTable::Problems => write_problems(catalog, &mut file)?,
        ExportTable::Contents => file.push(&content_row(content))?,
    }
    file.finish()
}

fn write_packages<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for package in catalog.packages() {
        let summary = package.summary();
        let default_channel = package.default_channel_name();
        file.push(&PackageRow {
            package: package.name(),
            description: package.description().map(JsonText::decode),
            default_channel: Some(default_channel).filter(|name| !name.is_empty()),
            display_name: summary.display_name(),
            provider: summary.provider_name(),
            categories: summary.categories().collect(),
            keywords: summary.keywords().collect(),
        })?;
    }
    Ok(())
}

fn write_channels<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for channel in catalog.packages().flat_map(Package::channels) {
        let head = match channel.head() {
            Head::One(entry) => Some(entry.name()),
            Head::None | Head::Several => None,
        };
        file.push(&ChannelRow {
            package: channel.package().name(),
            channel: channel.name(),
            is_default: channel.is_default(),
            head,
        })?;
    }
    Ok(())
}

fn write_entries<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for channel in catalog.packages().flat_map(Package::channels) {
        for (at, entry) in channel.entries().enumerate() {
            file.push(&EntryRow {
                package: channel.package().name(),
                channel: channel.name(),
                ordinal: integer(at),
                bundle: entry.name(),
                has_bundle: entry.bundle().is_some(),
                replaces: entry.replaces(),
                skips: entry.skips().collect(),
                skip_range: entry.skip_range(),
            })?;
        }
    }
    Ok(())
}

fn write_bundles<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    let mut manifests = Manifests::default();
    for package in catalog.packages() {
        for (at, bundle) in package.bundles().enumerate() {
            let metadata = bundle.metadata_by(&mut manifests);
            let min_kube_version = metadata
                .as_ref()
                .and_then(fbc::CsvMetadata::min_kube_version);
            file.push(&BundleRow {
                package: package.name(),
                bundle: bundle.name(),
                ordinal: integer(at),
                version: bundle.version(),
                release: bundle.release(),
                image: Some(bundle.image().decode()).filter(|image| !image.is_empty()),
                created_at: metadata.as_ref().and_then(fbc::CsvMetadata::created_at),
                min_kube_version: min_kube_version.map(JsonText::decode),
                max_openshift_version: bundle.max_openshift_version(),
            })?;
        }
    }
    Ok(())
}

fn write_properties<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for package in catalog.packages() {
        let owner = PropertyOwner {
            package: package.name(),
            channel: None,
            bundle: None,
        };
        write_properties_of(owner, package.properties(), file)?;
        for channel in package.channels() {
            let owner = PropertyOwner {
                channel: Some(channel.name()),
                ..owner
            };
            write_properties_of(owner, channel.properties(), file)?;
        }
        for bundle in package.bundles() {
            let owner = PropertyOwner {
                bundle: Some(bundle.name()),
                ..owner
            };
            write_properties_of(owner, bundle.properties(), file)?;
        }
    }
    Ok(())
}

/// Names of the object that has a property.
#[derive(Clone, Copy)]
struct PropertyOwner<'a> {
    package: &'a str,
    channel: Option<&'a str>,
    bundle: Option<&'a str>,
}

fn write_properties_of<'a, W: Write + Send>(
    owner: PropertyOwner<'a>,
    properties: impl Iterator<Item = Property<'a>>,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for (at, property) in properties.enumerate() {
        let value = property.value();
        let is_manifest = property.kind() == PropertyKind::BundleObject;
        file.push(&PropertyRow {
            package: owner.package,
            channel: owner.channel,
            bundle: owner.bundle,
            ordinal: integer(at),
            property_type: property.type_name(),
            value: value.filter(|_| !is_manifest).map(json),
            value_bytes: integer(value.map_or(0, |value| value.raw().len())),
        })?;
    }
    Ok(())
}

fn write_images<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for bundle in catalog.bundles() {
        for (at, related) in bundle.related_images().iter().enumerate() {
            let image = related.image.decode();
            let reference = ImageReference::parse(&image).ok();
            file.push(&ImageRow {
                package: bundle.package().name(),
                bundle: bundle.name(),
                ordinal: integer(at),
                name: related.name.decode(),
                image: Cow::Borrowed(&image),
                repository: reference.map(|reference| reference.repository().into()),
                tag: reference.and_then(|reference| reference.tag()),
                digest: reference.and_then(|reference| reference.digest()),
            })?;
        }
    }
    Ok(())
}

fn write_apis<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for bundle in catalog.bundles() {
        for (at, api) in bundle.provided_apis().enumerate() {
            file.push(&ApiRow {
                package: bundle.package().name(),
                bundle: bundle.name(),
                ordinal: integer(at),
                api_group: api.group,
                api_version: api.version,
                api_kind: api.kind,
            })?;
        }
    }
    Ok(())
}

fn write_requirements<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for bundle in catalog.bundles() {
        // Each property of one of these types is one requirement.
        let stated = bundle
            .properties()
            .filter(|property| REQUIREMENT_TYPES.contains(&property.type_name()));
        for (at, (property, requirement)) in stated.zip(bundle.requirements()).enumerate() {
            file.push(&requirement_row(bundle, at, property, &requirement))?;
        }
    }
    Ok(())
}

fn requirement_row<'a>(
    bundle: Bundle<'a>,
    at: usize,
    property: Property<'a>,
    requirement: &'a Requirement<'_>,
) -> RequirementRow<'a> {
    let mut row = RequirementRow {
        package: bundle.package().name(),
        bundle: bundle.name(),
        ordinal: integer(at),
        property_type: property.type_name(),
        required_package: None,
        version_range: None,
        api_group: None,
        api_version: None,
        api_kind: None,
        label: None,
        constraint_value: None,
        is_malformed: false,
        description: requirement.rule.to_string().into(),
    };
    match &requirement.rule {
        RequirementRule::Package(required) => {
            row.required_package = Some(required.package);
            row.version_range = Some(required.version_range);
        }
        RequirementRule::Api(api) => {
            row.api_group = Some(api.group);
            row.api_version = Some(api.version);
            row.api_kind = Some(api.kind);
        }
        RequirementRule::Label(label) => row.label = Some(label.into()),
        RequirementRule::Constraint(_) => row.constraint_value = property.value().map(json),
        RequirementRule::Malformed => row.is_malformed = true,
    }
    row
}

fn write_deprecations<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for package in catalog.packages() {
        if let Some(deprecation) = package.deprecation() {
            file.push(&deprecation_row(package, deprecation))?;
        }
        for channel in package.channels() {
            if let Some(deprecation) = channel.deprecation() {
                file.push(&DeprecationRow {
                    channel: Some(channel.name()),
                    ..deprecation_row(package, deprecation)
                })?;
            }
        }
        for bundle in package.bundles() {
            if let Some(deprecation) = bundle.deprecation() {
                file.push(&DeprecationRow {
                    bundle: Some(bundle.name()),
                    ..deprecation_row(package, deprecation)
                })?;
            }
        }
    }
    Ok(())
}

fn deprecation_row<'a>(package: Package<'a>, deprecation: Deprecation<'a>) -> DeprecationRow<'a> {
    DeprecationRow {
        package: package.name(),
        channel: None,
        bundle: None,
        message: deprecation.message().map(JsonText::decode),
    }
}

fn write_problems<W: Write + Send>(
    catalog: &Catalog,
    file: &mut TableFile<W>,
) -> Result<(), ExportError> {
    for problem in catalog.problems() {
        file.push(&ProblemRow {
            code: problem.code.as_str(),
            severity: severity(problem.severity()),
            occurrences: 1,
            message: Some(&problem.message),
            package: problem.package.as_deref(),
            channel: problem.channel.as_deref(),
            bundle: problem.bundle.as_deref(),
            file: problem.file.as_deref(),
            line: problem.line.map(i64::from),
        })?;
    }
    for (code, count) in catalog.all_problems().unlisted().iter() {
        file.push(&ProblemRow {
            code: code.as_str(),
            severity: severity(code.severity()),
            occurrences: i64::try_from(count).unwrap_or(i64::MAX),
            message: None,
            package: None,
            channel: None,
            bundle: None,
            file: None,
            line: None,
        })?;
    }
    Ok(())
}

fn content_row<'a>(content: &ExportedContent<'a>) -> ContentRow<'a> {
    let catalog = content.catalog;
    let count = |severity| {
        let count = catalog.all_problems().counts.of_severity(severity);
        i64::try_from(count).unwrap_or(i64::MAX)
    };
    ContentRow {
        exported_at: content.exported_at,
        image: content.image,
        packages: integer(catalog.packages().len()),
        bundles: integer(catalog.bundles().len()),
        blobs: integer(catalog.meta_count()),
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        bytes: integer(catalog.content().len()),
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "ERROR",
        Severity::Warning => "WARNING",
    }
}

fn json(value: JsonValue<'_>) -> Cow<'_, str> {
    String::from_utf8_lossy(value.raw())
}

/// Numbers of objects of a content are far below 2^63.
fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
