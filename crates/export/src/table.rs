//! The tables: one struct for a row of each, from which its schema is derived.
//!
//! The documentation comments of this file are the texts of `docs/reference/export.md`.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::column::{CellValue, ColumnBuffer, ExportColumn};

/// A row of a table.
pub(crate) trait TableRow {
    /// The table.
    const TABLE: ExportTable;

    /// Appends each value to its column.
    fn append(&self, columns: &mut [ColumnBuffer]);
}

/// Declares every table once: its name, its row and its columns with their types.
macro_rules! tables {
    ($($(#[doc = $about:literal])+ $table:ident, $row:ident = $name:literal {
        $($(#[doc = $description:literal])+ $column:ident: $value:ty,)+
    })+) => {
        /// A table of an export.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ExportTable {
            $($(#[doc = $about])+ $table,)+
        }

        impl ExportTable {
            /// Every table, in the order in which the files of a content are to be published: a
            /// content that is in the last one is in all others.
            pub const ALL: &'static [Self] = &[$(Self::$table),+];

            /// Returns the name, which is that of its folder.
            pub fn name(self) -> &'static str {
                match self { $(Self::$table => $name,)+ }
            }

            /// Returns what a row stands for, in Markdown.
            pub fn description(self) -> &'static str {
                match self { $(Self::$table => concat!($($about),+).trim_ascii_start(),)+ }
            }

            /// Returns the columns, without those in the names of folders.
            pub fn columns(self) -> &'static [ExportColumn] {
                match self { $(Self::$table => $row::COLUMNS,)+ }
            }
        }

        $(
            $(#[doc = $about])+
            pub(crate) struct $row<'a> {
                $($(#[doc = $description])+ pub(crate) $column: $value,)+
            }

            impl<'a> $row<'a> {
                const COLUMNS: &'static [ExportColumn] = &[$(ExportColumn {
                    name: stringify!($column),
                    column_type: <$value as CellValue>::TYPE,
                    is_optional: <$value as CellValue>::IS_OPTIONAL,
                    description: concat!($($description),+).trim_ascii_start(),
                }),+];
            }

            impl TableRow for $row<'_> {
                const TABLE: ExportTable = ExportTable::$table;

                fn append(&self, columns: &mut [ColumnBuffer]) {
                    let mut columns = columns.iter_mut();
                    $(if let Some(column) = columns.next() {
                        self.$column.append(column);
                    })+
                }
            }
        )+
    };
}

tables! {
    /// One row for each package.
    Packages, PackageRow = "packages" {
        /// Name, unique in the content.
        package: &'a str,
        /// Short description by the catalog's author.
        description: Option<Cow<'a, str>>,
        /// Name of the default channel; null if the package names none. It may name no channel.
        default_channel: Option<&'a str>,
        /// Display name, from the metadata of the bundle that represents the package: the head of
        /// the default channel, or else the highest version with metadata.
        display_name: Option<&'a str>,
        /// Name of the provider, from the same metadata.
        provider: Option<&'a str>,
        /// Categories, from the same metadata.
        categories: Vec<&'a str>,
        /// Keywords, from the same metadata.
        keywords: Vec<&'a str>,
    }

    /// One row for each channel.
    Channels, ChannelRow = "channels" {
        /// Name of the package.
        package: &'a str,
        /// Name, unique in the package.
        channel: &'a str,
        /// `true` for the default channel of the package.
        is_default: bool,
        /// Name of the bundle at the head: the entry that no entry replaces or skips. Null if the
        /// channel has none or several.
        head: Option<&'a str>,
    }

    /// One row for each entry of a channel: an edge of the update graph.
    Entries, EntryRow = "entries" {
        /// Name of the package.
        package: &'a str,
        /// Name of the channel.
        channel: &'a str,
        /// Index among the entries of the channel in the order of the catalog, from 0.
        ordinal: i64,
        /// Name of the bundle.
        bundle: &'a str,
        /// `true` if the package has a bundle of that name.
        has_bundle: bool,
        /// Name of the bundle that it replaces.
        replaces: Option<&'a str>,
        /// Names of the bundles that it skips.
        skips: Vec<&'a str>,
        /// Range of versions that can be upgraded to it, as written.
        skip_range: Option<&'a str>,
    }

    /// One row for each bundle.
    Bundles, BundleRow = "bundles" {
        /// Name of the package.
        package: &'a str,
        /// Name, unique in the package.
        bundle: &'a str,
        /// Index among the bundles of the package, from 0 for the highest version; bundles without a
        /// version come last. It orders versions, which SQL cannot.
        ordinal: i64,
        /// Semantic version; null if it is missing or malformed.
        version: Option<&'a str>,
        /// Release of that version.
        release: Option<&'a str>,
        /// Reference of the bundle image.
        image: Option<Cow<'a, str>>,
        /// Time at which the bundle was created, as its metadata says; null if that is missing or
        /// ambiguous.
        created_at: Option<Timestamp>,
        /// Lowest supported version of Kubernetes, from the metadata.
        min_kube_version: Option<Cow<'a, str>>,
        /// Last version of the platform that it supports, such as `4.18`, from the property
        /// `olm.maxOpenShiftVersion`.
        max_openshift_version: Option<&'a str>,
    }

    /// One row for each property of a package, a channel or a bundle.
    Properties, PropertyRow = "properties" {
        /// Name of the package.
        package: &'a str,
        /// Name of the channel; null for properties of packages and bundles.
        channel: Option<&'a str>,
        /// Name of the bundle; null for properties of packages and channels.
        bundle: Option<&'a str>,
        /// Index among the properties of the object, from 0.
        ordinal: i64,
        /// Type, such as `olm.gvk`.
        property_type: &'a str,
        /// Value as JSON, with sorted keys. Null if the property has none, and for
        /// `olm.bundle.object`: these are whole manifests, which bundle images have too.
        value: Option<Cow<'a, str>>,
        /// Size of the value as JSON, in bytes, also where `value` leaves it out.
        value_bytes: i64,
    }

    /// One row for each related image of a bundle.
    Images, ImageRow = "images" {
        /// Name of the package.
        package: &'a str,
        /// Name of the bundle.
        bundle: &'a str,
        /// Index among the related images of the bundle, from 0.
        ordinal: i64,
        /// Name of the image within the bundle; may be empty.
        name: Cow<'a, str>,
        /// Reference, as written.
        image: Cow<'a, str>,
        /// Registry and path, such as `quay.io/operatorhubio/catalog`; null, as the next two, if the
        /// reference is malformed.
        repository: Option<Cow<'a, str>>,
        /// Tag of the reference.
        tag: Option<&'a str>,
        /// Digest of the reference, such as `sha256:…`.
        digest: Option<&'a str>,
    }

    /// One row for each API that a bundle provides.
    Apis, ApiRow = "apis" {
        /// Name of the package.
        package: &'a str,
        /// Name of the bundle.
        bundle: &'a str,
        /// Index among the APIs that the bundle provides, from 0.
        ordinal: i64,
        /// Group of the API; empty for the core group.
        api_group: &'a str,
        /// Version of the API, such as `v1alpha1`.
        api_version: &'a str,
        /// Kind, such as `EtcdCluster`.
        api_kind: &'a str,
    }

    /// One row for each requirement of a bundle on other bundles.
    Requirements, RequirementRow = "requirements" {
        /// Name of the package.
        package: &'a str,
        /// Name of the bundle.
        bundle: &'a str,
        /// Index among the requirements of the bundle, from 0.
        ordinal: i64,
        /// Type of the property that states it, such as `olm.package.required`.
        property_type: &'a str,
        /// Name of the required package, for `olm.package.required`.
        required_package: Option<&'a str>,
        /// Range of versions of the required package, as written.
        version_range: Option<&'a str>,
        /// Group of the required API, for `olm.gvk.required`.
        api_group: Option<&'a str>,
        /// Version of the required API.
        api_version: Option<&'a str>,
        /// Kind of the required API.
        api_kind: Option<&'a str>,
        /// Required label, for `olm.label.required`.
        label: Option<Cow<'a, str>>,
        /// Condition as JSON, for `olm.constraint`.
        constraint_value: Option<Cow<'a, str>>,
        /// `true` if the value is malformed: nothing meets such a requirement.
        is_malformed: bool,
        /// The requirement in the words of OLM v0's messages.
        description: Cow<'a, str>,
    }

    /// One row for each deprecated package, channel or bundle.
    Deprecations, DeprecationRow = "deprecations" {
        /// Name of the package.
        package: &'a str,
        /// Name of the deprecated channel; null for packages and bundles.
        channel: Option<&'a str>,
        /// Name of the deprecated bundle; null for packages and channels.
        bundle: Option<&'a str>,
        /// Message to the user.
        message: Option<Cow<'a, str>>,
    }

    /// One row for each validation problem, and one for all problems of a code that are only counted.
    Problems, ProblemRow = "problems" {
        /// Code, such as `CHANNEL_MULTIPLE_HEADS`; see [Problems](problems.md).
        code: &'a str,
        /// `ERROR` if `opm validate` rejects the catalog, or else `WARNING`.
        severity: &'a str,
        /// Number of problems that the row stands for: 1, or more for problems that are only counted.
        occurrences: i64,
        /// Message for people; null, as all that follow, for problems that are only counted.
        message: Option<&'a str>,
        /// Name of the package concerned.
        package: Option<&'a str>,
        /// Name of the channel concerned.
        channel: Option<&'a str>,
        /// Name of the bundle concerned.
        bundle: Option<&'a str>,
        /// Path of the file from the root of the catalog. The first export of a content determines
        /// it, with the line: another layout of files has the same content.
        file: Option<&'a str>,
        /// Line of that file on which the blob begins, from 1.
        line: Option<i64>,
    }

    /// One row for the content itself. It is written after the rows of all other tables: a content
    /// without this row is incomplete, and the next export completes it.
    Contents, ContentRow = "contents" {
        /// Time of the first export of the content under this name.
        exported_at: Timestamp,
        /// Image that it was unpacked from, by digest; null for other sources.
        image: Option<&'a str>,
        /// Number of packages.
        packages: i64,
        /// Number of bundles.
        bundles: i64,
        /// Number of blobs of all schemas.
        blobs: i64,
        /// Number of validation problems with the severity `ERROR`.
        errors: i64,
        /// Number of validation problems with the severity `WARNING`.
        warnings: i64,
        /// Size of the canonical lines, in bytes.
        bytes: i64,
    }
}
