//! Locates the fields of metadata in an `olm.csv.metadata` and in a `ClusterServiceVersion`, from
//! which upstream makes the former.
//!
//! One pass over the text finds all fields. As in Go, keys of struct fields match in any letter
//! case and the last of several wins; keys of annotations match exactly.

use fbc_read::json::{JsonCursor, JsonError, JsonKind, JsonText, is_field};

use crate::ids::id;
use crate::record::Span;

/// A field of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetadataField {
    Annotations,
    Description,
    DisplayName,
    InstallModes,
    Keywords,
    Labels,
    Links,
    Maintainers,
    Maturity,
    MinKubeVersion,
    NativeApis,
    OwnedApiServices,
    OwnedCrds,
    Provider,
    RequiredApiServices,
    RequiredCrds,
    // Only in a `ClusterServiceVersion`.
    ClusterPermissions,
    Permissions,
    Webhooks,
    // Annotations.
    AlmExamples,
    Capabilities,
    Categories,
    Certified,
    ContainerImage,
    CreatedAt,
    InfrastructureFeatures,
    Repository,
    Support,
}

/// Span of each field in a text; empty when it is absent or of the wrong type.
#[derive(Clone, Debug, Default)]
pub(super) struct MetadataFields([Span; MetadataField::Support as usize + 1]);

/// Describes which fields a value contains.
#[derive(Clone, Copy)]
pub(super) enum FieldLayout {
    /// The value is a field, if it has this JSON type.
    Leaf(MetadataField, JsonKind),
    /// The value is an object with these fields.
    Object(&'static [&'static [Field]]),
    /// The value is the object of annotations.
    Annotations,
}

type Field = (&'static str, FieldLayout);

/// Layout of the value of an `olm.csv.metadata`.
pub(super) const PROPERTY: FieldLayout = FieldLayout::Object(&[
    SPEC_FIELDS,
    METADATA_FIELDS,
    &[
        ("crdDescriptions", CRDS),
        ("apiServiceDefinitions", API_SERVICES),
    ],
]);

/// Layout of a `ClusterServiceVersion`.
pub(super) const MANIFEST: FieldLayout = FieldLayout::Object(&[&[
    ("metadata", FieldLayout::Object(&[METADATA_FIELDS])),
    (
        "spec",
        FieldLayout::Object(&[SPEC_FIELDS, MANIFEST_SPEC_FIELDS]),
    ),
]]);

const MANIFEST_SPEC_FIELDS: &[Field] = &[
    ("customresourcedefinitions", CRDS),
    ("apiservicedefinitions", API_SERVICES),
    ("install", FieldLayout::Object(&[&[("spec", INSTALL_SPEC)]])),
    (
        "webhookdefinitions",
        FieldLayout::Leaf(MetadataField::Webhooks, JsonKind::Array),
    ),
];

const INSTALL_SPEC: FieldLayout = FieldLayout::Object(&[&[
    (
        "clusterPermissions",
        FieldLayout::Leaf(MetadataField::ClusterPermissions, JsonKind::Array),
    ),
    (
        "permissions",
        FieldLayout::Leaf(MetadataField::Permissions, JsonKind::Array),
    ),
]]);

const METADATA_FIELDS: &[Field] = &[
    ("annotations", FieldLayout::Annotations),
    (
        "labels",
        FieldLayout::Leaf(MetadataField::Labels, JsonKind::Object),
    ),
];

const SPEC_FIELDS: &[Field] = &[
    (
        "description",
        FieldLayout::Leaf(MetadataField::Description, JsonKind::String),
    ),
    (
        "displayName",
        FieldLayout::Leaf(MetadataField::DisplayName, JsonKind::String),
    ),
    (
        "installModes",
        FieldLayout::Leaf(MetadataField::InstallModes, JsonKind::Array),
    ),
    (
        "keywords",
        FieldLayout::Leaf(MetadataField::Keywords, JsonKind::Array),
    ),
    (
        "links",
        FieldLayout::Leaf(MetadataField::Links, JsonKind::Array),
    ),
    (
        "maintainers",
        FieldLayout::Leaf(MetadataField::Maintainers, JsonKind::Array),
    ),
    (
        "maturity",
        FieldLayout::Leaf(MetadataField::Maturity, JsonKind::String),
    ),
    (
        "minKubeVersion",
        FieldLayout::Leaf(MetadataField::MinKubeVersion, JsonKind::String),
    ),
    (
        "nativeAPIs",
        FieldLayout::Leaf(MetadataField::NativeApis, JsonKind::Array),
    ),
    (
        "provider",
        FieldLayout::Leaf(MetadataField::Provider, JsonKind::Object),
    ),
];

const CRDS: FieldLayout = FieldLayout::Object(&[&[
    (
        "owned",
        FieldLayout::Leaf(MetadataField::OwnedCrds, JsonKind::Array),
    ),
    (
        "required",
        FieldLayout::Leaf(MetadataField::RequiredCrds, JsonKind::Array),
    ),
]]);

const API_SERVICES: FieldLayout = FieldLayout::Object(&[&[
    (
        "owned",
        FieldLayout::Leaf(MetadataField::OwnedApiServices, JsonKind::Array),
    ),
    (
        "required",
        FieldLayout::Leaf(MetadataField::RequiredApiServices, JsonKind::Array),
    ),
]]);

const ANNOTATIONS: &[(&str, MetadataField)] = &[
    ("alm-examples", MetadataField::AlmExamples),
    ("capabilities", MetadataField::Capabilities),
    ("categories", MetadataField::Categories),
    ("certified", MetadataField::Certified),
    ("containerImage", MetadataField::ContainerImage),
    ("createdAt", MetadataField::CreatedAt),
    (
        "operators.openshift.io/infrastructure-features",
        MetadataField::InfrastructureFeatures,
    ),
    ("repository", MetadataField::Repository),
    ("support", MetadataField::Support),
];

impl MetadataFields {
    /// Locates the fields of a value.
    pub(super) fn find(text: &[u8], layout: FieldLayout) -> Result<Self, JsonError> {
        let mut fields = Self::default();
        fields.walk(&mut JsonCursor::new(text), layout)?;
        Ok(fields)
    }

    /// Returns the text of a field, if it is there.
    pub(super) fn get<'t>(&self, text: &'t [u8], field: MetadataField) -> Option<&'t [u8]> {
        let span = self.0[field as usize];
        (!span.is_none()).then(|| &text[span.start as usize..(span.start + span.len) as usize])
    }

    fn walk(&mut self, cursor: &mut JsonCursor<'_>, layout: FieldLayout) -> Result<(), JsonError> {
        let start = cursor.position();
        let kind = cursor.kind()?;
        match layout {
            FieldLayout::Object(fields) if kind == JsonKind::Object => {
                cursor.object(|cursor, key| match field(fields, key) {
                    Some(layout) => self.walk(cursor, layout),
                    None => cursor.value().map(drop),
                })
            }
            FieldLayout::Annotations if kind == JsonKind::Object => {
                for &(_, field) in ANNOTATIONS {
                    self.0[field as usize] = Span::default();
                }
                cursor.object(|cursor, key| {
                    match ANNOTATIONS.iter().find(|(name, _)| key.is(name)) {
                        Some(&(_, field)) => {
                            self.walk(cursor, FieldLayout::Leaf(field, JsonKind::String))
                        }
                        None => cursor.value().map(drop),
                    }
                })?;
                self.set(MetadataField::Annotations, start, cursor.position());
                Ok(())
            }
            FieldLayout::Leaf(field, wanted) if kind == wanted => {
                cursor.value()?;
                self.set(field, start, cursor.position());
                Ok(())
            }
            _ => cursor.value().map(drop),
        }
    }

    fn set(&mut self, field: MetadataField, start: usize, end: usize) {
        self.0[field as usize] = Span {
            start: id(start),
            len: id(end - start),
        };
    }
}

fn field(fields: &[&[Field]], key: JsonText<'_>) -> Option<FieldLayout> {
    let mut all = fields.iter().copied().flatten();
    all.find(|(name, _)| is_field(key, name))
        .map(|&(_, layout)| layout)
}
