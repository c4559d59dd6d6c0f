//! `Installation` and what belongs to it: the objects that an install of a bundle creates, and what
//! they may do.

use fbc::Bundle;
use fbc::work::Step;
use fbc_grammar::Digest;
use fbc_grammar::image::ImageReference;
use install_preview::rights::RightsScope;
use install_preview::summary::{
    AccountPermission, DefinitionChange, DefinitionSummary, InstallDifference, InstallSummary,
    RightGroup, WebhookSummary, WorkloadSummary,
};
use install_preview::{
    BundleDirectory, CertificateProvider, PreviewError, RbacRule, RegistryBundle, RenderOptions,
    RenderedObject, Rendering, RightsFlag, is_namespace_name, render,
};
use sha2::{Digest as _, Sha256};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteError, WriteResult, arguments};
use crate::bundle_manifests::{MAX_BUNDLE_IMAGES, ManifestFetchError};
use crate::errors::Code;
use crate::fields::{
    DefinitionChangeField, InstallationDefinitionField, InstallationDifferenceField,
    InstallationErrorField, InstallationField, InstallationObjectField,
    InstallationPermissionField, InstallationWebhookField, InstallationWorkloadField,
    PermissionRightField, PolicyRuleField,
};
use crate::input::{self, CertificateProviderInput, InstallationInput};

/// Maximum number of namespaces that `InstallationInput.watchNamespaces` may have.
const MAX_WATCH_NAMESPACES: usize = 50;

/// Bytes that a byte of manifests is charged as when it is read, and as when it is rendered for a
/// namespace.
const READ_PRICE: usize = 2;

/// The manifests of a bundle.
struct BundleManifests {
    origin: ManifestOrigin,
    bundle: Result<RegistryBundle, PreviewError>,
    /// Size of their text in bytes.
    bytes: usize,
}

/// Origin of manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ManifestOrigin {
    Catalog,
    Image,
}

/// A rendered install with its summary.
struct RenderedInstall<'m> {
    rendering: Rendering<'m>,
    summary: InstallSummary,
}

impl RenderedInstall<'_> {
    /// Returns the bytes of definitions that a comparison reads: each version is compared with the
    /// same one of the other bundle and with the other versions.
    fn compared_bytes(&self) -> usize {
        let versions = self.summary.crds.iter().map(|crd| crd.versions.len());
        let versions = versions.max().unwrap_or_default().max(1);
        let objects = self.rendering.objects.iter();
        let definitions = objects.filter(|object| object.kind == "CustomResourceDefinition");
        let bytes: usize = definitions.map(|object| object.json.len()).sum();
        bytes.saturating_mul(versions)
    }
}

/// The type `Installation`.
#[derive(Clone, Copy)]
struct InstallationRef<'r, 'a> {
    bundle: InCatalog<'a, Bundle<'a>>,
    options: &'r RenderOptions,
    manifests: &'r BundleManifests,
    install: &'r Result<RenderedInstall<'r>, Vec<PreviewError>>,
}

/// The type `InstallationDifference`.
#[derive(Clone, Copy)]
struct DifferenceRef<'r> {
    from: &'r str,
    difference: &'r InstallDifference,
}

impl<'a> ResponseWriter<'a> {
    /// Writes `Bundle.installation`.
    pub(super) fn installation(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let argument = arguments(field).get("input");
        let input: InstallationInput<'_> = input::read(argument).expect("the argument is required");
        let options = match render_options(&input) {
            Ok(options) => options,
            Err(message) => return self.bad_user_input(field, message),
        };
        let manifests = self.bundle_manifests(bundle.item, field)?;
        let install = self.render(&manifests, &options)?;
        let installation = InstallationRef {
            bundle,
            options: &options,
            manifests: &manifests,
            install: &install,
        };
        self.object(installation, field)
    }

    /// Reads the manifests of a bundle.
    fn bundle_manifests(
        &mut self,
        bundle: Bundle<'a>,
        field: &'a PlannedField<'a>,
    ) -> Result<BundleManifests, WriteError> {
        let bytes = bundle.manifest_bytes();
        if bytes > 0 {
            self.work
                .draw(Step::ParsedByte, bytes.saturating_mul(READ_PRICE))?;
            return Ok(BundleManifests {
                origin: ManifestOrigin::Catalog,
                bundle: bundle.registry_bundle(),
                bytes,
            });
        }
        let directory = self.image_manifests(bundle, field)?;
        let manifests = directory.manifests.iter();
        let bytes = manifests.map(|file| file.bytes.len()).sum();
        self.work
            .draw(Step::ParsedByte, usize::saturating_mul(bytes, READ_PRICE))?;
        Ok(BundleManifests {
            origin: ManifestOrigin::Image,
            bundle: RegistryBundle::read_directory(directory),
            bytes,
        })
    }

    /// Returns the files in the image of a bundle if they were fetched, or notes that they are
    /// wanted.
    fn image_manifests(
        &mut self,
        bundle: Bundle<'a>,
        field: &'a PlannedField<'a>,
    ) -> Result<&'a BundleDirectory, WriteError> {
        let name = bundle.name();
        let image = bundle.image().decode();
        let (code, message) = match self.context.images.get(&image) {
            Some(Ok(directory)) => return Ok(directory),
            Some(Err(ManifestFetchError::Unreachable(error))) => {
                (Code::ManifestsUnreachable, error.clone())
            }
            Some(Err(ManifestFetchError::Refused(error))) => {
                (Code::ManifestsRefused, error.clone())
            }
            None => {
                let reason = self.want_image(&image);
                let message = format!("the catalog has no manifests of bundle `{name}`: {reason}");
                (Code::ManifestsNotFetched, message)
            }
        };
        let error = self.field_error(field, code, message);
        Err(error.expect_err("it is an error"))
    }

    /// Notes that an image is wanted, and returns why it is not there.
    fn want_image(&mut self, image: &str) -> String {
        if image.is_empty() {
            return "it has no image either".to_owned();
        }
        let digest = ImageReference::parse(image).map(|reference| reference.digest().is_some());
        if digest != Ok(true) {
            return format!(
                "its image `{image}` is not named by digest, so that the server does not fetch it; `catalogql preview` does"
            );
        }
        if !self.context.fetches_images {
            return format!(
                "they are in its image `{image}`, which a server fetches only with --bundle-images; `catalogql preview` reads it, too"
            );
        }
        let count = self.context.images.len() + self.wanted_images.len();
        if count >= MAX_BUNDLE_IMAGES && !self.wanted_images.contains(image) {
            return format!("at most {MAX_BUNDLE_IMAGES} images are fetched for a request");
        }
        self.wanted_images.insert(image.to_owned());
        format!("its image `{image}` was not fetched in time")
    }

    /// Renders an install, or returns why it is refused.
    fn render<'m>(
        &mut self,
        manifests: &'m BundleManifests,
        options: &RenderOptions,
    ) -> Result<Result<RenderedInstall<'m>, Vec<PreviewError>>, WriteError> {
        // Roles are rendered for each namespace.
        let times = 1 + options.watch_namespaces.len();
        let bytes = manifests.bytes.saturating_mul(times);
        self.work.draw(Step::ParsedByte, bytes)?;
        let bundle = match &manifests.bundle {
            Ok(bundle) => bundle,
            Err(error) => return Ok(Err(vec![error.clone()])),
        };
        let rendering = match render(bundle, options) {
            Ok(rendering) => rendering,
            Err(errors) => return Ok(Err(errors)),
        };
        let summary = InstallSummary::of(&rendering, &options.install_namespace);
        Ok(match summary {
            Ok(summary) => Ok(RenderedInstall { rendering, summary }),
            Err(error) => Err(vec![error]),
        })
    }

    /// Writes `Installation.difference`.
    fn installation_difference(
        &mut self,
        installation: InstallationRef<'_, 'a>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let name = arguments(field).string("from").unwrap_or_default();
        let package = installation.bundle.item.package();
        let Some(other) = package.bundle(name) else {
            let names = package.bundles().map(Bundle::name);
            self.suggest_names(field, "from", names)?;
            self.null();
            return Ok(());
        };
        let manifests = self.bundle_manifests(other, field)?;
        let before = self.render(&manifests, installation.options)?;
        let (Ok(install), Ok(before)) = (installation.install, before) else {
            self.null();
            return Ok(());
        };
        for side in [install, &before] {
            self.work.draw(Step::ParsedByte, side.compared_bytes())?;
        }
        let difference = install.summary.difference_from(&before.summary);
        let difference = DifferenceRef {
            from: other.name(),
            difference: &difference,
        };
        self.object(difference, field)
    }

    fn flags<'f>(&mut self, flags: impl IntoIterator<Item = &'f RightsFlag>) {
        self.strings(flags.into_iter().map(|flag| flag.as_str()));
    }

    fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t String>) {
        self.strings(texts.into_iter().map(String::as_str));
    }

    fn scope(&mut self, scope: RightsScope) {
        self.static_string(match scope {
            RightsScope::Cluster => "CLUSTER",
            RightsScope::Namespace => "NAMESPACE",
        });
    }
}

/// Returns the options of an install.
///
/// # Errors
/// A namespace cannot have its name, or there are too many.
fn render_options(input: &InstallationInput<'_>) -> Result<RenderOptions, String> {
    if !is_namespace_name(input.namespace) {
        return Err("`namespace` is malformed: write a DNS label".to_owned());
    }
    let watched = input.watch_namespaces.as_deref().unwrap_or_default();
    if watched.len() > MAX_WATCH_NAMESPACES {
        return Err(format!(
            "`watchNamespaces` has {} items; at most {MAX_WATCH_NAMESPACES} are allowed",
            watched.len()
        ));
    }
    let is_watchable = |name: &&str| name.is_empty() || is_namespace_name(name);
    if !watched.iter().all(is_watchable) {
        return Err("`watchNamespaces` is malformed: write DNS labels".to_owned());
    }
    Ok(RenderOptions {
        install_namespace: input.namespace.to_owned(),
        watch_namespaces: watched.iter().map(|&name| name.to_owned()).collect(),
        certificates: input.certificates.map(|provider| match provider {
            CertificateProviderInput::CertManager => CertificateProvider::CertManager,
            CertificateProviderInput::ServiceCa => CertificateProvider::ServiceCa,
        }),
        deployment_config: None,
    })
}

impl<'a> Object<'a> for InstallationRef<'_, 'a> {
    type Field = InstallationField;

    fn write(
        self,
        name: InstallationField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let install = self.install.as_ref().ok();
        let summary = install.map(|install| &install.summary);
        match name {
            InstallationField::ManifestsFrom => {
                writer.static_string(match self.manifests.origin {
                    ManifestOrigin::Catalog => "CATALOG",
                    ManifestOrigin::Image => "IMAGE",
                });
            }
            InstallationField::TargetNamespaces => {
                let targets = install.map(|install| &install.rendering.target_namespaces);
                writer.texts(targets.into_iter().flatten());
            }
            InstallationField::Objects => {
                let objects = install.map(|install| &install.rendering.objects);
                return writer.object_list(objects.into_iter().flatten(), field);
            }
            InstallationField::Crds => {
                let crds = summary.map(|summary| &summary.crds);
                return writer.object_list(crds.into_iter().flatten(), field);
            }
            InstallationField::Webhooks => {
                let webhooks = summary.map(|summary| &summary.webhooks);
                return writer.object_list(webhooks.into_iter().flatten(), field);
            }
            InstallationField::Workloads => {
                let workloads = summary.map(|summary| &summary.workloads);
                return writer.object_list(workloads.into_iter().flatten(), field);
            }
            InstallationField::Permissions => {
                let permissions = summary.map(|summary| &summary.permissions);
                return writer.object_list(permissions.into_iter().flatten(), field);
            }
            InstallationField::Flags => {
                let flags = summary.map(|summary| &summary.flags);
                writer.flags(flags.into_iter().flatten());
            }
            InstallationField::Errors => {
                let errors = self.install.as_ref().err();
                return writer.object_list(errors.into_iter().flatten(), field);
            }
            InstallationField::OlmV1 => {
                let manifests = self.manifests.bundle.as_ref();
                let judgement = self.bundle.item.olm_v1_from_manifests(manifests);
                return writer.object(&judgement, field);
            }
            InstallationField::Difference => {
                return writer.installation_difference(self, field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &PreviewError {
    type Field = InstallationErrorField;

    fn write(
        self,
        name: InstallationErrorField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            InstallationErrorField::Code => writer.string(&self.code.to_string()),
            InstallationErrorField::Message => writer.string(&self.message),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &RenderedObject<'_> {
    type Field = InstallationObjectField;

    fn write(
        self,
        name: InstallationObjectField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            InstallationObjectField::ApiVersion => writer.string(&self.api_version),
            InstallationObjectField::Kind => writer.string(&self.kind),
            InstallationObjectField::Namespace => {
                writer.optional_string(self.namespace.as_deref());
            }
            InstallationObjectField::Name => writer.string(&self.name),
            InstallationObjectField::Manifest => return writer.json(self.json.as_bytes()),
            InstallationObjectField::Digest => {
                writer.work.draw(Step::JsonByte, self.json.len())?;
                let digest = Digest::new(Sha256::digest(self.json.as_bytes()).into());
                writer.string(&digest.to_string());
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &DefinitionSummary {
    type Field = InstallationDefinitionField;

    fn write(
        self,
        name: InstallationDefinitionField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            InstallationDefinitionField::Name => writer.string(&self.name),
            InstallationDefinitionField::Scope => writer.string(&self.scope),
            InstallationDefinitionField::Versions => writer.texts(&self.versions),
            InstallationDefinitionField::StorageVersion => {
                writer.optional_string(self.storage_version.as_deref());
            }
            InstallationDefinitionField::Conversion => writer.string(&self.conversion),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &WebhookSummary {
    type Field = InstallationWebhookField;

    fn write(
        self,
        name: InstallationWebhookField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            InstallationWebhookField::Type => writer.static_string(self.kind),
            InstallationWebhookField::Name => writer.string(&self.name),
            InstallationWebhookField::Rules => writer.texts(&self.rules),
            InstallationWebhookField::FailurePolicy => {
                writer.optional_string(self.failure_policy.as_deref());
            }
            InstallationWebhookField::Namespaces => writer.texts(&self.namespaces),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &WorkloadSummary {
    type Field = InstallationWorkloadField;

    fn write(
        self,
        name: InstallationWorkloadField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            InstallationWorkloadField::Name => writer.string(&self.name),
            InstallationWorkloadField::ServiceAccount => writer.string(&self.service_account),
            InstallationWorkloadField::Images => writer.texts(&self.images),
            InstallationWorkloadField::Privileged => writer.boolean(self.privileged),
            InstallationWorkloadField::HostNetwork => writer.boolean(self.host_network),
            InstallationWorkloadField::HostPid => writer.boolean(self.host_pid),
            InstallationWorkloadField::HostPaths => writer.texts(&self.host_paths),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &AccountPermission {
    type Field = InstallationPermissionField;

    fn write(
        self,
        name: InstallationPermissionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            InstallationPermissionField::ServiceAccount => writer.string(&self.service_account),
            InstallationPermissionField::Scope => writer.scope(self.scope),
            InstallationPermissionField::Namespaces => writer.texts(&self.namespaces),
            InstallationPermissionField::ForeignRole => {
                writer.optional_string(self.foreign_role.as_deref());
            }
            InstallationPermissionField::Rules => return writer.object_list(&self.rules, field),
            InstallationPermissionField::Flags => writer.flags(&self.flags),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &RbacRule {
    type Field = PolicyRuleField;

    fn write(
        self,
        name: PolicyRuleField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PolicyRuleField::Verbs => writer.texts(self.verbs.iter().flatten()),
            PolicyRuleField::ApiGroups => writer.texts(&self.api_groups),
            PolicyRuleField::Resources => writer.texts(&self.resources),
            PolicyRuleField::ResourceNames => writer.texts(&self.resource_names),
            PolicyRuleField::NonResourceUrls => writer.texts(&self.non_resource_urls),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for DifferenceRef<'_> {
    type Field = InstallationDifferenceField;

    fn write(
        self,
        name: InstallationDifferenceField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let difference = self.difference;
        match name {
            InstallationDifferenceField::From => writer.string(self.from),
            InstallationDifferenceField::RightsGained => {
                return writer.object_list(&difference.rights_gained, field);
            }
            InstallationDifferenceField::RightsLost => {
                return writer.object_list(&difference.rights_lost, field);
            }
            InstallationDifferenceField::FlagsGained => writer.flags(&difference.flags_gained),
            InstallationDifferenceField::FlagsLost => writer.flags(&difference.flags_lost),
            InstallationDifferenceField::ImagesAdded => writer.texts(&difference.images_added),
            InstallationDifferenceField::ImagesRemoved => {
                writer.texts(&difference.images_removed);
            }
            InstallationDifferenceField::WebhooksAdded => {
                return writer.object_list(&difference.webhooks_added, field);
            }
            InstallationDifferenceField::WebhooksRemoved => {
                return writer.object_list(&difference.webhooks_removed, field);
            }
            InstallationDifferenceField::CrdChanges => {
                return writer.object_list(&difference.crd_changes, field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &RightGroup {
    type Field = PermissionRightField;

    fn write(
        self,
        name: PermissionRightField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PermissionRightField::Scope => writer.scope(self.scope),
            PermissionRightField::Namespace => {
                writer.optional_string(self.namespace.as_deref());
            }
            PermissionRightField::ApiGroup => writer.optional_string(self.api_group.as_deref()),
            PermissionRightField::Resource => writer.string(&self.resource),
            PermissionRightField::ResourceName => {
                writer.optional_string(self.resource_name.as_deref());
            }
            PermissionRightField::Verbs => writer.texts(&self.verbs),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &DefinitionChange {
    type Field = DefinitionChangeField;

    fn write(
        self,
        name: DefinitionChangeField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            DefinitionChangeField::Name => writer.string(&self.name),
            DefinitionChangeField::Version => writer.optional_string(self.version.as_deref()),
            DefinitionChangeField::Field => writer.optional_string(self.field.as_deref()),
            DefinitionChangeField::Check => writer.static_string(self.check),
            DefinitionChangeField::Message => writer.string(&self.message),
        }
        Ok(())
    }
}
