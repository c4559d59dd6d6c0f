//! Where the members of metadata stand: in an `olm.csv.metadata`, and in a `ClusterServiceVersion`, of which upstream
//! makes the other.
//!
//! One walk over the text finds all of them. As in Go, the letter case of typed keys does not count and the last of
//! several counts; the keys of annotations are exact.

use crate::catalog::record::Span;
use crate::json::{Cursor, Fault, Kind, Text, is_field};

/// What can be asked of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
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
    OwnedCrds,
    Provider,
    RequiredCrds,
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

/// Where each member stands in a text; nowhere when it is absent or of the wrong type.
#[derive(Clone, Debug, Default)]
pub(super) struct Members([Span; Member::Support as usize + 1]);

/// Where members stand in a value.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// It is a member, if it is of this kind.
    Is(Member, Kind),
    /// It is an object with these fields.
    In(&'static [&'static [Field]]),
    /// It is the annotations.
    Annotations,
}

type Field = (&'static str, Layout);

/// The value of an `olm.csv.metadata`.
pub(super) const PROPERTY: Layout = Layout::In(&[OF_SPEC, OF_METADATA, &[("crdDescriptions", CRDS)]]);

/// A `ClusterServiceVersion`.
pub(super) const MANIFEST: Layout = Layout::In(&[&[
    ("metadata", Layout::In(&[OF_METADATA])),
    ("spec", Layout::In(&[OF_SPEC, &[("customresourcedefinitions", CRDS)]])),
]]);

const OF_METADATA: &[Field] =
    &[("annotations", Layout::Annotations), ("labels", Layout::Is(Member::Labels, Kind::Object))];

const OF_SPEC: &[Field] = &[
    ("description", Layout::Is(Member::Description, Kind::String)),
    ("displayName", Layout::Is(Member::DisplayName, Kind::String)),
    ("installModes", Layout::Is(Member::InstallModes, Kind::Array)),
    ("keywords", Layout::Is(Member::Keywords, Kind::Array)),
    ("links", Layout::Is(Member::Links, Kind::Array)),
    ("maintainers", Layout::Is(Member::Maintainers, Kind::Array)),
    ("maturity", Layout::Is(Member::Maturity, Kind::String)),
    ("minKubeVersion", Layout::Is(Member::MinKubeVersion, Kind::String)),
    ("nativeAPIs", Layout::Is(Member::NativeApis, Kind::Array)),
    ("provider", Layout::Is(Member::Provider, Kind::Object)),
];

const CRDS: Layout = Layout::In(&[&[
    ("owned", Layout::Is(Member::OwnedCrds, Kind::Array)),
    ("required", Layout::Is(Member::RequiredCrds, Kind::Array)),
]]);

const ANNOTATIONS: &[(&str, Member)] = &[
    ("alm-examples", Member::AlmExamples),
    ("capabilities", Member::Capabilities),
    ("categories", Member::Categories),
    ("certified", Member::Certified),
    ("containerImage", Member::ContainerImage),
    ("createdAt", Member::CreatedAt),
    ("operators.openshift.io/infrastructure-features", Member::InfrastructureFeatures),
    ("repository", Member::Repository),
    ("support", Member::Support),
];

impl Members {
    /// Finds the members of a value.
    pub(super) fn find(text: &[u8], layout: Layout) -> Result<Self, Fault> {
        let mut members = Self::default();
        members.walk(&mut Cursor::new(text), layout)?;
        Ok(members)
    }

    /// The text of a member.
    pub(super) fn get<'t>(&self, text: &'t [u8], member: Member) -> Option<&'t [u8]> {
        let span = self.0[member as usize];
        (!span.is_none()).then(|| &text[span.start as usize..(span.start + span.len) as usize])
    }

    fn walk(&mut self, cursor: &mut Cursor<'_>, layout: Layout) -> Result<(), Fault> {
        let (start, kind) = (cursor.position(), cursor.kind()?);
        match layout {
            Layout::In(fields) if kind == Kind::Object => cursor.object(|cursor, key| match field(fields, key) {
                Some(layout) => self.walk(cursor, layout),
                None => cursor.value().map(drop),
            }),
            Layout::Annotations if kind == Kind::Object => {
                for &(_, member) in ANNOTATIONS {
                    self.0[member as usize] = Span::default();
                }
                cursor.object(|cursor, key| match ANNOTATIONS.iter().find(|(name, _)| key.is(name)) {
                    Some(&(_, member)) => self.walk(cursor, Layout::Is(member, Kind::String)),
                    None => cursor.value().map(drop),
                })?;
                self.set(Member::Annotations, start, cursor.position());
                Ok(())
            }
            Layout::Is(member, wanted) if kind == wanted => {
                cursor.value()?;
                self.set(member, start, cursor.position());
                Ok(())
            }
            _ => cursor.value().map(drop),
        }
    }

    fn set(&mut self, member: Member, start: usize, end: usize) {
        self.0[member as usize] = Span { start: crate::catalog::id(start), len: crate::catalog::id(end - start) };
    }
}

fn field(fields: &[&[Field]], key: Text<'_>) -> Option<Layout> {
    let mut all = fields.iter().copied().flatten();
    all.find(|(name, _)| is_field(key, name)).map(|&(_, layout)| layout)
}
