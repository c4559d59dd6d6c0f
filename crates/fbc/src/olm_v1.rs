//! Installability of bundles by OLM v1, judged from what their catalog says.
//!
//! The rules are those of upstream's migration library (`operator-framework/library-olm` at
//! 4bfca30f, checks C1a, C2, C3 and C5) and of the controller's renderer, which `install-preview`
//! has. A catalog without manifests says nothing of webhooks, permissions and other objects, so
//! blockers that need them are found only where it has them.

use std::fmt;

use fbc_grammar::olm::{OLM_V0_GROUP, OLM_V0_RESOURCES, OLM_V1_GROUP, UNRESOLVED_TYPES};
use fbc_read::json::JsonText;
use fbc_read::manifest::{Manifests, read_manifest};
use install_preview::summary::InstallSummary;
use install_preview::{
    BundleManifestFile, PermissionQuery, PreviewError, PreviewErrorCode, RegistryBundle, refusals,
};

use crate::bundle::Bundle;
use crate::csv_enums::{InstallMode, InstallModes};
use crate::install_verdict::{InstallVerdict, OlmV1Installability};
use crate::metadata::{CsvMetadata, ServiceAccountPermissions};
use crate::property::{Property, PropertyKind};
use crate::record::Payload;
use crate::work::{Step, Work, WorkStopped};

/// Evidence of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlmV1Evidence {
    /// Properties of the bundle.
    Metadata,
    /// Properties and inline manifests.
    Manifests,
}

/// A judgement of a bundle with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlmV1Judgement {
    /// Installability of the bundle.
    pub installability: OlmV1Installability,
    /// Metadata or manifests.
    pub evidence: OlmV1Evidence,
    /// Blockers, and notes that do not prevent an install.
    pub blockers: Vec<OlmV1Blocker>,
}

/// A reason against an install by OLM v1, or something to know before one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlmV1Blocker {
    /// Kind of the reason.
    pub code: OlmV1BlockerCode,
    /// Explanation in English.
    pub detail: String,
    /// `true` if OLM v1 refuses the bundle for it.
    pub is_hard: bool,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OlmV1BlockerCode {
    /// It has dependencies.
    Dependency,
    /// It does not support all namespaces.
    NoAllNamespaces,
    /// It provides an aggregated API.
    ApiService,
    /// It has a conversion webhook and supports other install modes.
    WebhookWithOtherModes,
    /// The renderer of the controller refuses it.
    Renderer(PreviewErrorCode),
    /// It uses APIs of OLM v0.
    OlmV0Api,
    /// Its webhooks need a provider of certificates.
    NeedsCertificates,
}

impl<'a> Bundle<'a> {
    /// Judges whether OLM v1 can install the bundle.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn olm_v1(
        self,
        manifests: &mut Manifests,
        work: &Work<'_>,
    ) -> Result<OlmV1Judgement, WorkStopped> {
        work.draw(Step::Comparison, self.properties().len())?;
        let csv = self.manifest_metadata_by(manifests);
        work.draw(Step::DecodedByte, manifests.take_work())?;
        let metadata = csv.or_else(|| self.properties().find_map(Property::metadata));
        if let Some(metadata) = &metadata {
            work.draw(Step::JsonByte, 3 * metadata.install_bytes())?;
        }
        let mut judgement = self.judgement_builder(metadata.as_ref());
        if judgement.evidence == OlmV1Evidence::Manifests {
            work.draw(Step::ParsedByte, self.manifest_bytes())?;
            judgement.refuse(self.renderer_refusals());
        }
        Ok(judgement.finish())
    }

    /// Judges the bundle as [`Bundle::olm_v1`] does, from manifests that its catalog need not have,
    /// or from why they cannot be read.
    pub fn olm_v1_from_manifests(
        self,
        manifests: Result<&RegistryBundle, &PreviewError>,
    ) -> OlmV1Judgement {
        let json = manifests.map(RegistryBundle::csv_json).unwrap_or_default();
        let metadata = CsvMetadata::from_manifest(json.as_bytes());
        let mut judgement = self.judgement_builder(metadata.as_ref());
        judgement.evidence = OlmV1Evidence::Manifests;
        judgement.refuse(match manifests {
            Ok(bundle) => refusals(bundle),
            Err(error) => vec![error.clone()],
        });
        judgement.finish()
    }

    /// Returns whether a usual install of the bundle gives rights that meet conditions. A bundle
    /// without manifests in its catalog, or one that the controller refuses, gives none.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn grants(self, query: &PermissionQuery<'_>, work: &Work<'_>) -> Result<bool, WorkStopped> {
        work.draw(Step::Comparison, self.properties().len())?;
        let bytes = self.manifest_bytes();
        if bytes == 0 {
            return Ok(false);
        }
        work.draw(Step::ParsedByte, bytes)?;
        let manifests = self.registry_bundle().map_err(|error| vec![error]);
        let summary = manifests.and_then(|bundle| InstallSummary::of_usual_install(&bundle));
        Ok(summary.is_ok_and(|summary| summary.grants(query)))
    }

    /// Reads the manifests that the catalog has of the bundle.
    ///
    /// # Errors
    /// If one cannot be read, or there is no `ClusterServiceVersion`.
    pub fn registry_bundle(self) -> Result<RegistryBundle, PreviewError> {
        let files = self.inline_manifests()?;
        RegistryBundle::read(self.package().name(), &files)
    }

    /// Judges the bundle by its properties and metadata alone, as [`Bundle::olm_v1`] does for one
    /// without manifests.
    pub fn judge_olm_v1(self, metadata: Option<&CsvMetadata<'_>>) -> OlmV1Judgement {
        self.judgement_builder(metadata).finish()
    }

    /// Returns whether OLM v1 can install the bundle, as [`Bundle::olm_v1`] does.
    ///
    /// The first call on a catalog decodes the metadata of all bundles, and the first call on a
    /// bundle with manifests renders these.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn olm_v1_installability(
        self,
        work: &Work<'_>,
    ) -> Result<OlmV1Installability, WorkStopped> {
        work.draw(Step::Comparison, 1)?;
        let verdicts = &self.catalog().bundle_properties().verdicts;
        let verdict = verdicts.get(self.place());
        if !verdict.is_preliminary {
            return Ok(verdict.installability);
        }
        work.draw(Step::ParsedByte, self.manifest_bytes())?;
        let has_refusal = |errors: &[PreviewError], is_ours: bool| {
            let mut codes = errors.iter().map(|error| error.code);
            codes.any(|code| (code == PreviewErrorCode::TooLarge) == is_ours)
        };
        let errors = self.renderer_refusals();
        let installability = if has_refusal(&errors, false) {
            OlmV1Installability::No
        } else if has_refusal(&errors, true) {
            OlmV1Installability::Unknown
        } else {
            verdict.installability
        };
        verdicts.set(self.place(), installability);
        Ok(installability)
    }

    /// Decodes the manifests that the catalog has of the bundle, in catalog order.
    ///
    /// # Errors
    /// If the data of one is not base64.
    pub fn inline_manifests(self) -> Result<Vec<BundleManifestFile<'static>>, PreviewError> {
        let mut files = Vec::new();
        for property in self.manifest_properties() {
            let name = format!("{:04}.yaml", files.len());
            let mut bytes = Vec::new();
            let read = property
                .value()
                .and_then(|value| read_manifest(value.raw(), &mut bytes));
            if read.is_none() {
                let message = format!("cannot decode manifest {name:?}: its data is not base64");
                return Err(PreviewError::new(
                    PreviewErrorCode::UnreadableManifest,
                    message,
                ));
            }
            files.push(BundleManifestFile {
                name: name.into(),
                bytes: bytes.into(),
            });
        }
        Ok(files)
    }

    /// Judges the bundle by its metadata, for a table of all bundles.
    pub(crate) fn first_verdict(
        self,
        metadata: Option<&CsvMetadata<'_>>,
        manifests: &mut Manifests,
    ) -> InstallVerdict {
        // A catalog may have both kinds of metadata: then the manifests say more.
        let csv = match metadata {
            Some(metadata) if metadata.is_manifest => None,
            _ => self.manifest_metadata_by(manifests),
        };
        let judgement = self.judgement_builder(csv.as_ref().or(metadata));
        let is_preliminary = judgement.evidence == OlmV1Evidence::Manifests && !judgement.is_hard();
        InstallVerdict {
            installability: judgement.finish().installability,
            is_preliminary,
        }
    }

    /// Judges all but what the renderer decides.
    fn judgement_builder(self, metadata: Option<&CsvMetadata<'_>>) -> JudgementBuilder {
        let mut judgement = JudgementBuilder {
            evidence: OlmV1Evidence::Metadata,
            blockers: Vec::new(),
            is_known: false,
        };
        judgement.dependencies(self);
        if let Some(metadata) = metadata {
            if metadata.is_manifest {
                judgement.evidence = OlmV1Evidence::Manifests;
            }
            judgement.install_modes(metadata);
            judgement.api_services(metadata);
            judgement.permissions(metadata);
            judgement.webhooks(metadata);
        }
        judgement
    }

    /// Returns the reasons for which the renderer of the controller refuses the manifests.
    fn renderer_refusals(self) -> Vec<PreviewError> {
        match self.registry_bundle() {
            Ok(bundle) => refusals(&bundle),
            Err(error) => vec![error],
        }
    }

    fn manifest_properties(self) -> impl Iterator<Item = Property<'a>> {
        self.properties()
            .filter(|property| property.payload() == Payload::BundleObject)
    }

    /// Returns the size of its inline manifests in the catalog, in bytes; 0 if it has none.
    pub fn manifest_bytes(self) -> usize {
        self.manifest_properties()
            .filter_map(Property::value)
            .map(|value| value.raw().len())
            .sum()
    }
}

/// Collects the reasons of a judgement.
struct JudgementBuilder {
    evidence: OlmV1Evidence,
    blockers: Vec<OlmV1Blocker>,
    /// `true` if everything that decides is known.
    is_known: bool,
}

impl JudgementBuilder {
    fn add(&mut self, code: OlmV1BlockerCode, is_hard: bool, detail: String) {
        self.blockers.push(OlmV1Blocker {
            code,
            detail,
            is_hard,
        });
    }

    fn is_hard(&self) -> bool {
        self.blockers.iter().any(|blocker| blocker.is_hard)
    }

    fn dependencies(&mut self, bundle: Bundle<'_>) {
        for property in bundle.properties() {
            let type_name = property.type_name();
            if !UNRESOLVED_TYPES.contains(&type_name) {
                continue;
            }
            let detail = match property.kind() {
                PropertyKind::PackageRequired(required) => format!(
                    "requires package `{}` in version `{}`",
                    required.package, required.version_range
                ),
                PropertyKind::GvkRequired(api) => format!(
                    "requires the API `{}/{}`, kind `{}`",
                    api.group, api.version, api.kind
                ),
                _ => format!("has a property `{type_name}`"),
            };
            self.add(OlmV1BlockerCode::Dependency, true, detail);
        }
    }

    fn install_modes(&mut self, metadata: &CsvMetadata<'_>) {
        self.is_known = metadata.lists_install_modes();
        let modes = metadata.install_modes();
        if !self.is_known || modes.contains(InstallMode::AllNamespaces) {
            return;
        }
        let is_gated = modes.contains(InstallMode::OwnNamespace)
            || modes.contains(InstallMode::SingleNamespace);
        let supported = mode_names(modes);
        let detail = if is_gated {
            format!(
                "supports {supported} and not AllNamespaces: needs the feature gate SingleOwnNamespaceInstallSupport and `spec.config.inline.watchNamespace`"
            )
        } else {
            format!("supports {supported} and not AllNamespaces")
        };
        self.add(OlmV1BlockerCode::NoAllNamespaces, !is_gated, detail);
    }

    fn api_services(&mut self, metadata: &CsvMetadata<'_>) {
        for service in metadata.owned_api_services() {
            let [group, version, kind] = [service.group, service.version, service.kind]
                .map(|text: JsonText<'_>| text.decode().into_owned());
            let detail = format!("provides the aggregated API `{group}/{version}`, kind `{kind}`");
            self.add(OlmV1BlockerCode::ApiService, true, detail);
        }
    }

    fn permissions(&mut self, metadata: &CsvMetadata<'_>) {
        let accounts = metadata.cluster_permissions().unwrap_or_default();
        let mut used = Vec::new();
        for rule in accounts
            .into_iter()
            .flat_map(ServiceAccountPermissions::rules)
        {
            let groups = rule.api_groups();
            if groups.iter().any(|group| group.decode() == OLM_V1_GROUP) {
                return;
            }
            if groups.iter().any(|group| group.decode() == OLM_V0_GROUP) {
                let resources = rule.resources().into_iter().map(JsonText::decode);
                let known = OLM_V0_RESOURCES;
                used.extend(resources.filter_map(|name| {
                    let mut known = known.into_iter();
                    known.find(|known| *known == name)
                }));
            }
        }
        used.sort_unstable();
        used.dedup();
        if !used.is_empty() {
            let detail = format!(
                "has rights on {} of `{OLM_V0_GROUP}` and none on `{OLM_V1_GROUP}`",
                used.join(", ")
            );
            self.add(OlmV1BlockerCode::OlmV0Api, false, detail);
        }
    }

    fn webhooks(&mut self, metadata: &CsvMetadata<'_>) {
        let count = metadata
            .webhooks()
            .map_or(0, |webhooks: Vec<_>| webhooks.len());
        if count > 0 {
            let detail = format!(
                "webhooks ({count}) need certificates: cert-manager, or service-ca of OpenShift"
            );
            self.add(OlmV1BlockerCode::NeedsCertificates, false, detail);
        }
    }

    /// Adds the reasons of the renderer.
    fn refuse(&mut self, errors: Vec<PreviewError>) {
        for error in errors {
            let code = match error.code {
                PreviewErrorCode::ConversionInstallModes => OlmV1BlockerCode::WebhookWithOtherModes,
                code => OlmV1BlockerCode::Renderer(code),
            };
            // A limit of this program says nothing of the controller.
            let is_ours = error.code == PreviewErrorCode::TooLarge;
            self.is_known &= !is_ours;
            self.add(code, !is_ours, error.message);
        }
    }

    fn finish(self) -> OlmV1Judgement {
        let is_gated = self
            .blockers
            .iter()
            .any(|blocker| blocker.code == OlmV1BlockerCode::NoAllNamespaces);
        let installability = if self.is_hard() {
            OlmV1Installability::No
        } else if !self.is_known {
            OlmV1Installability::Unknown
        } else if is_gated {
            OlmV1Installability::TechPreview
        } else {
            OlmV1Installability::Yes
        };
        OlmV1Judgement {
            installability,
            evidence: self.evidence,
            blockers: self.blockers,
        }
    }
}

fn mode_names(modes: InstallModes) -> String {
    if modes.is_empty() {
        return "no install mode".to_owned();
    }
    let names: Vec<_> = modes.iter().map(InstallMode::as_str).collect();
    names.join(", ")
}

impl fmt::Display for OlmV1BlockerCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Dependency => "DEPENDENCY",
            Self::NoAllNamespaces => "NO_ALL_NAMESPACES",
            Self::ApiService => "API_SERVICE",
            Self::WebhookWithOtherModes => "WEBHOOK_WITH_OTHER_MODES",
            Self::Renderer(code) => return write!(formatter, "RENDERER:{code}"),
            Self::OlmV0Api => "OLM_V0_API",
            Self::NeedsCertificates => "NEEDS_CERTIFICATES",
        })
    }
}
