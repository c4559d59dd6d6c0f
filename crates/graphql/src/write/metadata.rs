//! `CsvMetadata`, and the small types that only it has.

use fbc::catalog::{CapabilityLevel, CrdDescription, CsvMetadata, InstallModes, JsonText, Link, Maintainer, NativeApi};

use super::{Field, Object, Outcome, Writer, arguments};
use crate::fields::{
    CrdDescriptionField, CsvMetadataField, GroupVersionKindField, KeyValueField, LinkField, MaintainerField,
};
use crate::filter::{self, CAPABILITY_LEVELS, INSTALL_MODES};

/// The type `Link`, decoded.
#[derive(Clone, Copy)]
pub(super) struct Named<'m> {
    pub(super) name: Option<&'m str>,
    pub(super) url: Option<&'m str>,
}

/// The type `KeyValue`, as it stands in the metadata.
#[derive(Clone, Copy)]
struct Pair<'m>(JsonText<'m>, JsonText<'m>);

impl<'a> Object<'a> for &CsvMetadata<'_> {
    type Field = CsvMetadataField;

    fn write(self, name: CsvMetadataField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            CsvMetadataField::DisplayName => return to.maybe_json_text(self.display_name()),
            CsvMetadataField::Description => return to.maybe_json_text(self.description()),
            CsvMetadataField::Provider => return to.maybe(self.provider(), field),
            CsvMetadataField::Maintainers => return to.many(self.maintainers(), field),
            CsvMetadataField::Links => return to.many(self.links(), field),
            CsvMetadataField::Keywords => return to.json_texts(self.keywords()),
            CsvMetadataField::Categories => to.texts(self.categories().iter().map(|text| &**text)),
            CsvMetadataField::CapabilityLevel => to.capability_level(self.capability_level()),
            CsvMetadataField::Maturity => return to.maybe_json_text(self.maturity()),
            CsvMetadataField::MinKubeVersion => return to.maybe_json_text(self.min_kube_version()),
            CsvMetadataField::InstallModes => to.install_modes(self.install_modes()),
            CsvMetadataField::InfrastructureFeatures => {
                to.texts(self.infrastructure_features().iter().map(|text| &**text));
            }
            CsvMetadataField::Certified => to.maybe_boolean(self.certified()),
            CsvMetadataField::CreatedAt => to.maybe_text(self.created_at().map(|at| at.to_string()).as_deref()),
            CsvMetadataField::ContainerImage => to.maybe_text(self.container_image().as_deref()),
            CsvMetadataField::Repository => to.maybe_text(self.repository().as_deref()),
            CsvMetadataField::Support => to.maybe_text(self.support().as_deref()),
            CsvMetadataField::OwnedCrds => return to.many(self.owned_crds(), field),
            CsvMetadataField::RequiredCrds => return to.many(self.required_crds(), field),
            CsvMetadataField::NativeApis => return to.many(self.native_apis(), field),
            CsvMetadataField::Examples => return to.maybe_raw(self.examples().as_deref()),
            CsvMetadataField::Labels => {
                return to.many(self.labels().into_iter().map(|(key, value)| Pair(key, value)), field);
            }
            CsvMetadataField::Annotations => {
                let wanted = arguments(field).texts("keys");
                let annotations = self.annotations().into_iter();
                let annotations =
                    annotations.filter(|(key, _)| wanted.is_none_or(|wanted| wanted.contains(&key.decode())));
                return to.many(annotations.map(|(key, value)| Pair(key, value)), field);
            }
        }
        Ok(())
    }
}

impl Writer<'_> {
    pub(super) fn capability_level(&mut self, level: Option<CapabilityLevel>) {
        match level {
            Some(level) => self.word(filter::word(&CAPABILITY_LEVELS, &level)),
            None => self.null(),
        }
    }

    pub(super) fn install_modes(&mut self, modes: InstallModes) {
        self.texts(modes.iter().map(|mode| filter::word(&INSTALL_MODES, &mode)));
    }

    pub(super) fn maybe_boolean(&mut self, value: Option<bool>) {
        match value {
            Some(value) => self.boolean(value),
            None => self.null(),
        }
    }

    fn maybe_json_text(&mut self, text: Option<JsonText<'_>>) -> Outcome {
        self.maybe_raw(text.map(JsonText::raw))
    }

    fn json_texts(&mut self, texts: Vec<JsonText<'_>>) -> Outcome {
        self.out.push(b'[');
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.raw(text.raw())?;
        }
        self.out.push(b']');
        Ok(())
    }
}

impl<'a> Object<'a> for Link<'_> {
    type Field = LinkField;

    fn write(self, name: LinkField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            LinkField::Name => to.maybe_json_text(self.name),
            LinkField::Url => to.maybe_json_text(self.url),
        }
    }
}

impl<'a> Object<'a> for Named<'_> {
    type Field = LinkField;

    fn write(self, name: LinkField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            LinkField::Name => to.maybe_text(self.name),
            LinkField::Url => to.maybe_text(self.url),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for Maintainer<'_> {
    type Field = MaintainerField;

    fn write(self, name: MaintainerField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            MaintainerField::Name => to.maybe_json_text(self.name),
            MaintainerField::Email => to.maybe_json_text(self.email),
        }
    }
}

impl<'a> Object<'a> for CrdDescription<'_> {
    type Field = CrdDescriptionField;

    fn write(self, name: CrdDescriptionField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            CrdDescriptionField::Name => to.raw(self.name.raw()),
            CrdDescriptionField::Version => to.raw(self.version.raw()),
            CrdDescriptionField::Kind => to.raw(self.kind.raw()),
            CrdDescriptionField::DisplayName => to.maybe_json_text(self.display_name),
            CrdDescriptionField::Description => to.maybe_json_text(self.description),
        }
    }
}

impl<'a> Object<'a> for NativeApi<'_> {
    type Field = GroupVersionKindField;

    fn write(self, name: GroupVersionKindField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            GroupVersionKindField::Group => to.raw(self.group.raw()),
            GroupVersionKindField::Version => to.raw(self.version.raw()),
            GroupVersionKindField::Kind => to.raw(self.kind.raw()),
        }
    }
}

impl<'a> Object<'a> for Pair<'_> {
    type Field = KeyValueField;

    fn write(self, name: KeyValueField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(key, value) = self;
        match name {
            KeyValueField::Key => to.raw(key.raw()),
            KeyValueField::Value => to.raw(value.raw()),
        }
    }
}
