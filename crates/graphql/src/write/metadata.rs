//! `CsvMetadata`, and the small types that only it has.

use fbc::catalog::{CapabilityLevel, CrdDescription, CsvMetadata, InstallModes, JsonText, Link, Maintainer, NativeApi};

use super::{Field, Object, Outcome, Writer, arguments};
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
    fn type_name(self) -> &'static str {
        "CsvMetadata"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "displayName" => return to.maybe_json_text(self.display_name()),
            "description" => return to.maybe_json_text(self.description()),
            "provider" => return to.maybe(self.provider(), field),
            "maintainers" => return to.many(self.maintainers(), field),
            "links" => return to.many(self.links(), field),
            "keywords" => return to.json_texts(self.keywords()),
            "categories" => to.texts(self.categories().iter().map(|text| &**text)),
            "capabilityLevel" => to.capability_level(self.capability_level()),
            "maturity" => return to.maybe_json_text(self.maturity()),
            "minKubeVersion" => return to.maybe_json_text(self.min_kube_version()),
            "installModes" => to.install_modes(self.install_modes()),
            "infrastructureFeatures" => to.texts(self.infrastructure_features().iter().map(|text| &**text)),
            "certified" => to.maybe_boolean(self.certified()),
            "createdAt" => to.maybe_text(self.created_at().map(|at| at.to_string()).as_deref()),
            "containerImage" => to.maybe_text(self.container_image().as_deref()),
            "repository" => to.maybe_text(self.repository().as_deref()),
            "support" => to.maybe_text(self.support().as_deref()),
            "ownedCrds" => return to.many(self.owned_crds(), field),
            "requiredCrds" => return to.many(self.required_crds(), field),
            "nativeApis" => return to.many(self.native_apis(), field),
            "examples" => return to.maybe_raw(self.examples().as_deref()),
            "labels" => return to.many(self.labels().into_iter().map(|(key, value)| Pair(key, value)), field),
            "annotations" => {
                let wanted = arguments(field).texts("keys");
                let annotations = self.annotations().into_iter();
                let annotations =
                    annotations.filter(|(key, _)| wanted.is_none_or(|wanted| wanted.contains(&key.decode())));
                return to.many(annotations.map(|(key, value)| Pair(key, value)), field);
            }
            _ => return to.unknown(field),
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
    fn type_name(self) -> &'static str {
        "Link"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "name" => to.maybe_json_text(self.name),
            "url" => to.maybe_json_text(self.url),
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for Named<'_> {
    fn type_name(self) -> &'static str {
        "Link"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "name" => to.maybe_text(self.name),
            "url" => to.maybe_text(self.url),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for Maintainer<'_> {
    fn type_name(self) -> &'static str {
        "Maintainer"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "name" => to.maybe_json_text(self.name),
            "email" => to.maybe_json_text(self.email),
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for CrdDescription<'_> {
    fn type_name(self) -> &'static str {
        "CrdDescription"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "name" => to.raw(self.name.raw()),
            "version" => to.raw(self.version.raw()),
            "kind" => to.raw(self.kind.raw()),
            "displayName" => to.maybe_json_text(self.display_name),
            "description" => to.maybe_json_text(self.description),
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for NativeApi<'_> {
    fn type_name(self) -> &'static str {
        "GroupVersionKind"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "group" => to.raw(self.group.raw()),
            "version" => to.raw(self.version.raw()),
            "kind" => to.raw(self.kind.raw()),
            _ => to.unknown(field),
        }
    }
}

impl<'a> Object<'a> for Pair<'_> {
    fn type_name(self) -> &'static str {
        "KeyValue"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self(key, value) = self;
        match field.name {
            "key" => to.raw(key.raw()),
            "value" => to.raw(value.raw()),
            _ => to.unknown(field),
        }
    }
}
