//! `CsvMetadata`, `Link`, `Maintainer`, and its `KeyValue`.

use fbc::work::Step;
use fbc::{
    Bundle, CapabilityLevel, CrdDescription, CsvMetadata, InstallModes, Link, Maintainer,
    short_name,
};
use fbc_read::json::JsonText;
use serving::Served;

use super::descriptions::CrdObject;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{CsvMetadataField, KeyValueField, LinkField, MaintainerField, ProviderField};
use crate::filter::{self, CAPABILITY_LEVELS, INSTALL_MODES};
use crate::opaque_key::KeyTag;

/// The type `Provider`, with decoded strings.
#[derive(Clone, Copy)]
pub(super) struct DecodedProvider<'m> {
    pub(super) name: Option<&'m str>,
    pub(super) short_name: Option<&'m str>,
    pub(super) url: Option<&'m str>,
}

/// Identifies metadata in a catalog: the display metadata of a bundle, or that of a property.
#[derive(Clone, Copy)]
pub(super) struct MetadataId<'a> {
    pub(super) package: &'a str,
    pub(super) channel: Option<&'a str>,
    pub(super) bundle: Option<&'a str>,
    /// Index of the property; `None` for the display metadata of the bundle.
    pub(super) property: Option<usize>,
}

impl<'a> MetadataId<'a> {
    /// Returns the id of the display metadata of a bundle.
    pub(super) fn from_bundle(bundle: Bundle<'a>) -> Self {
        Self {
            package: bundle.package().name(),
            channel: None,
            bundle: Some(bundle.name()),
            property: None,
        }
    }

    /// Writes the id of the metadata in a catalog.
    pub(super) fn write(self, served: &Served, writer: &mut ResponseWriter<'a>) {
        let property = self.property.map(|index| index.to_string());
        let parts = [
            Some(served.name.as_str()),
            Some(self.package),
            self.channel,
            self.bundle,
            property.as_deref(),
        ];
        writer.opaque_key(KeyTag::METADATA, parts);
    }
}

/// The type `Provider`.
#[derive(Clone, Copy)]
struct Provider<'m>(Link<'m>);

/// The type `KeyValue`, with the JSON strings of the metadata.
#[derive(Clone, Copy)]
struct RawKeyValue<'m>(JsonText<'m>, JsonText<'m>);

impl<'a> Object<'a> for InCatalog<'a, (&CsvMetadata<'_>, MetadataId<'a>)> {
    type Field = CsvMetadataField;

    fn write(
        self,
        name: CsvMetadataField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let (metadata, id) = self.item;
        if reads_labels(name) {
            writer.work.draw(Step::JsonByte, metadata.label_bytes())?;
        }
        match name {
            CsvMetadataField::Id => id.write(self.served, writer),
            CsvMetadataField::DisplayName => {
                return writer.optional_json_string(metadata.display_name());
            }
            CsvMetadataField::Summary => writer.optional_string(metadata.summary().as_deref()),
            CsvMetadataField::Description => {
                return writer.optional_json_string(metadata.description());
            }
            CsvMetadataField::Provider => {
                return writer.optional_object(metadata.provider().map(Provider), field);
            }
            CsvMetadataField::Maintainers => {
                return writer.object_list(metadata.maintainers(), field);
            }
            CsvMetadataField::Links => return writer.object_list(metadata.links(), field),
            CsvMetadataField::Keywords => return writer.json_strings(metadata.keywords()),
            CsvMetadataField::Categories => writer.strings(texts(&metadata.categories())),
            CsvMetadataField::CapabilityLevel => {
                writer.capability_level(metadata.capability_level());
            }
            CsvMetadataField::Maturity => return writer.optional_json_string(metadata.maturity()),
            CsvMetadataField::MinKubeVersion => {
                return writer.optional_json_string(metadata.min_kube_version());
            }
            CsvMetadataField::MaxKubeVersion => {
                writer.optional_string(metadata.max_kube_version().as_deref());
            }
            CsvMetadataField::InstallModes => writer.install_modes(metadata.install_modes()),
            CsvMetadataField::InfrastructureFeatures => {
                writer.strings(texts(&metadata.infrastructure_features()));
            }
            CsvMetadataField::Architectures => writer.strings(texts(&metadata.architectures())),
            CsvMetadataField::OperatingSystems => {
                writer.strings(texts(&metadata.operating_systems()));
            }
            CsvMetadataField::Certified => writer.optional_boolean(metadata.certified()),
            CsvMetadataField::CertifiedLevel => {
                writer.optional_string(metadata.certified_level().as_deref());
            }
            CsvMetadataField::ValidSubscriptions => {
                writer.strings(texts(&metadata.valid_subscriptions()));
            }
            CsvMetadataField::CreatedAt => {
                writer.optional_string(metadata.created_at().map(|at| at.to_string()).as_deref());
            }
            CsvMetadataField::ContainerImage => {
                writer.optional_string(metadata.container_image().as_deref());
            }
            CsvMetadataField::Repository => {
                writer.optional_string(metadata.repository().as_deref());
            }
            CsvMetadataField::Support => writer.optional_string(metadata.support().as_deref()),
            CsvMetadataField::SuggestedNamespace => {
                writer.optional_string(metadata.suggested_namespace().as_deref());
            }
            CsvMetadataField::SuggestedNamespaceTemplate => {
                return writer.optional_json(metadata.suggested_namespace_template().as_deref());
            }
            CsvMetadataField::InitializationResource => {
                return writer.optional_json(metadata.initialization_resource().as_deref());
            }
            CsvMetadataField::ClusterMonitoring => {
                writer.optional_boolean(metadata.cluster_monitoring());
            }
            CsvMetadataField::ConsolePlugins => writer.strings(texts(&metadata.console_plugins())),
            CsvMetadataField::InternalObjects => {
                writer.strings(texts(&metadata.internal_objects()));
            }
            CsvMetadataField::IsStandalone => writer.boolean(metadata.is_standalone()),
            CsvMetadataField::ActionText => {
                writer.optional_string(metadata.action_text().as_deref());
            }
            CsvMetadataField::RemoteWorkflow => {
                writer.optional_string(metadata.remote_workflow().as_deref());
            }
            CsvMetadataField::SupportWorkflow => {
                writer.optional_string(metadata.support_workflow().as_deref());
            }
            CsvMetadataField::UninstallMessage => {
                writer.optional_string(metadata.uninstall_message().as_deref());
            }
            CsvMetadataField::OwnedCrds => {
                return writer.crds(metadata, metadata.owned_crds(), field);
            }
            CsvMetadataField::RequiredCrds => {
                return writer.crds(metadata, metadata.required_crds(), field);
            }
            CsvMetadataField::OwnedApiServices => {
                return writer.object_list(metadata.owned_api_services(), field);
            }
            CsvMetadataField::RequiredApiServices => {
                return writer.object_list(metadata.required_api_services(), field);
            }
            CsvMetadataField::Permissions => {
                return writer.install_list(metadata, metadata.permissions(), field);
            }
            CsvMetadataField::ClusterPermissions => {
                return writer.install_list(metadata, metadata.cluster_permissions(), field);
            }
            CsvMetadataField::Webhooks => {
                return writer.install_list(metadata, metadata.webhooks(), field);
            }
            CsvMetadataField::NativeApis => {
                return writer.object_list(
                    metadata.native_apis().into_iter().map(|api| self.with(api)),
                    field,
                );
            }
            CsvMetadataField::Examples => {
                return writer.optional_json(metadata.examples().as_deref());
            }
            CsvMetadataField::Label => {
                return writer.optional_json_string(metadata.label(key(field)));
            }
            CsvMetadataField::Annotation => {
                return writer.optional_json_string(metadata.annotation(key(field)));
            }
            CsvMetadataField::Labels => {
                return writer.key_values(metadata.labels().into_iter(), field);
            }
            CsvMetadataField::Annotations => {
                let keys = arguments(field).strings("keys");
                let annotations = metadata.annotations().into_iter();
                let annotations = annotations
                    .filter(|(key, _)| keys.is_none_or(|keys| keys.contains(&key.decode())));
                return writer.key_values(annotations, field);
            }
        }
        Ok(())
    }
}

/// Returns the argument `key` of a field.
fn key<'a>(field: &'a PlannedField<'a>) -> &'a str {
    arguments(field).string("key").unwrap_or_default()
}

/// Returns whether a field is found in labels and annotations, whose size no object accounts for.
fn reads_labels(field: CsvMetadataField) -> bool {
    !matches!(
        field,
        CsvMetadataField::Id
            | CsvMetadataField::DisplayName
            | CsvMetadataField::Description
            | CsvMetadataField::Provider
            | CsvMetadataField::Maintainers
            | CsvMetadataField::Links
            | CsvMetadataField::Keywords
            | CsvMetadataField::Maturity
            | CsvMetadataField::MinKubeVersion
            | CsvMetadataField::InstallModes
            | CsvMetadataField::OwnedCrds
            | CsvMetadataField::RequiredCrds
            | CsvMetadataField::OwnedApiServices
            | CsvMetadataField::RequiredApiServices
            | CsvMetadataField::Permissions
            | CsvMetadataField::ClusterPermissions
            | CsvMetadataField::Webhooks
            | CsvMetadataField::NativeApis
    )
}

impl<'a> ResponseWriter<'a> {
    fn key_values<'m>(
        &mut self,
        pairs: impl Iterator<Item = (JsonText<'m>, JsonText<'m>)>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.object_list(pairs.map(|(key, value)| RawKeyValue(key, value)), field)
    }

    /// Writes descriptions of custom resources.
    fn crds(
        &mut self,
        metadata: &CsvMetadata<'_>,
        crds: Vec<CrdDescription<'_>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.object_list(
            crds.into_iter().map(|crd| CrdObject { metadata, crd }),
            field,
        )
    }
}

fn texts(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(|text| &**text)
}

impl ResponseWriter<'_> {
    pub(super) fn capability_level(&mut self, level: Option<CapabilityLevel>) {
        match level {
            Some(level) => self.static_string(filter::word(&CAPABILITY_LEVELS, &level)),
            None => self.null(),
        }
    }

    pub(super) fn install_modes(&mut self, modes: InstallModes) {
        self.strings(modes.iter().map(|mode| filter::word(&INSTALL_MODES, &mode)));
    }

    pub(super) fn optional_boolean(&mut self, value: Option<bool>) {
        match value {
            Some(value) => self.boolean(value),
            None => self.null(),
        }
    }

    pub(super) fn optional_json_string(&mut self, text: Option<JsonText<'_>>) -> WriteResult {
        self.optional_json(text.map(JsonText::raw))
    }

    pub(super) fn json_strings<'t>(
        &mut self,
        texts: impl IntoIterator<Item = JsonText<'t>>,
    ) -> WriteResult {
        self.out.push(b'[');
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.json(text.raw())?;
        }
        self.out.push(b']');
        Ok(())
    }
}

impl<'a> Object<'a> for Link<'_> {
    type Field = LinkField;

    fn write(
        self,
        name: LinkField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            LinkField::Name => writer.optional_json_string(self.name),
            LinkField::Url => writer.optional_json_string(self.url),
        }
    }
}

impl<'a> Object<'a> for Provider<'_> {
    type Field = ProviderField;

    fn write(
        self,
        name: ProviderField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(Link { name: own, url }) = self;
        match name {
            ProviderField::Name => return writer.optional_json_string(own),
            ProviderField::ShortName => {
                writer.optional_string(
                    own.map(|name| short_name(&name.decode()).to_owned())
                        .as_deref(),
                );
            }
            ProviderField::Url => return writer.optional_json_string(url),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for DecodedProvider<'_> {
    type Field = ProviderField;

    fn write(
        self,
        name: ProviderField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            ProviderField::Name => writer.optional_string(self.name),
            ProviderField::ShortName => writer.optional_string(self.short_name),
            ProviderField::Url => writer.optional_string(self.url),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for Maintainer<'_> {
    type Field = MaintainerField;

    fn write(
        self,
        name: MaintainerField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MaintainerField::Name => writer.optional_json_string(self.name),
            MaintainerField::Email => writer.optional_json_string(self.email),
        }
    }
}

impl<'a> Object<'a> for RawKeyValue<'_> {
    type Field = KeyValueField;

    fn write(
        self,
        name: KeyValueField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(key, value) = self;
        match name {
            KeyValueField::Key => writer.json(key.raw()),
            KeyValueField::Value => writer.json(value.raw()),
        }
    }
}
