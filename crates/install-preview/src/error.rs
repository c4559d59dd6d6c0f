//! Reasons why a bundle cannot be read or rendered.

use std::fmt;

use serde::Serialize;

/// A reason why an install of a bundle would be refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewError {
    /// Kind of the reason, which does not change between versions.
    pub code: PreviewErrorCode,
    /// Reason of the refusal, in the words of the OLM v1 controller where it has any.
    pub message: String,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PreviewErrorCode {
    /// The catalog has no manifests of the bundle.
    NoManifests,
    /// The bundle exceeds a limit of the preview.
    TooLarge,
    /// A manifest is neither JSON nor YAML, has no kind, or has a value of the wrong type.
    UnreadableManifest,
    /// No manifest is a `ClusterServiceVersion`.
    NoClusterServiceVersion,
    /// The metadata of the bundle cannot be read.
    UnreadableMetadata,
    /// Two deployments have one name.
    DuplicateDeployment,
    /// The name of a deployment is no DNS subdomain.
    InvalidDeploymentName,
    /// Two custom resource definitions have one name.
    DuplicateDefinition,
    /// A custom resource definition that the CSV owns is not in the bundle.
    MissingDefinition,
    /// The bundle names no package.
    NoPackageName,
    /// A conversion webhook needs a bundle that supports all namespaces, and nothing else.
    ConversionInstallModes,
    /// The deployment of a webhook is not in the CSV.
    MissingWebhookDeployment,
    /// Two webhooks of one type have one name.
    DuplicateWebhook,
    /// The name of a webhook is no DNS subdomain.
    InvalidWebhookName,
    /// Two conversion webhooks convert one custom resource.
    SharedConversion,
    /// A conversion webhook converts a custom resource that the CSV does not own.
    ForeignConversion,
    /// A webhook intercepts requests that it may not.
    ForbiddenWebhookRule,
    /// A bundle may not have objects of this kind.
    UnsupportedKind,
    /// The install modes of the bundle do not support the watched namespaces.
    InvalidTargetNamespaces,
    /// A converted custom resource preserves unknown fields.
    PreservesUnknownFields,
    /// The deployment configuration cannot be read.
    InvalidDeploymentConfig,
}

impl PreviewError {
    /// Creates a reason.
    pub fn new(code: PreviewErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for PreviewErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl fmt::Display for PreviewError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for PreviewError {}
