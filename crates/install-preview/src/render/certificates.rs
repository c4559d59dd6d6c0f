//! Certificates of webhooks: what their providers need.

use std::collections::BTreeSet;

use serde_json::json;

use super::{ObjectName, RenderInput, RenderedObject};
use crate::names::{WebhookNames, join};

/// Provider of certificates for webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateProvider {
    /// cert-manager: an Issuer and a Certificate for each deployment.
    CertManager,
    /// The service CA of `OpenShift`: annotations alone.
    ServiceCa,
}

impl CertificateProvider {
    /// Returns the annotation by which the provider finds an object whose webhook it shall trust.
    pub(super) fn injection(self, namespace: &str, names: &WebhookNames) -> (&'static str, String) {
        match self {
            Self::CertManager => (
                "cert-manager.io/inject-ca-from",
                format!("{namespace}/{}", names.certificate),
            ),
            Self::ServiceCa => (
                "service.beta.openshift.io/inject-cabundle",
                "true".to_owned(),
            ),
        }
    }

    /// Returns the annotation of a Service for which the provider makes a certificate.
    pub(super) fn service_annotation(self, names: &WebhookNames) -> Option<(&'static str, String)> {
        match self {
            Self::CertManager => None,
            Self::ServiceCa => Some((
                "service.beta.openshift.io/serving-cert-secret-name",
                names.certificate.clone(),
            )),
        }
    }
}

/// Renders the objects of the provider for each deployment with webhooks.
pub(super) fn objects<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    if input.certificates != Some(CertificateProvider::CertManager) {
        return Vec::new();
    }
    let webhooks = input.bundle.csv.spec.webhookdefinitions.iter();
    let deployments: BTreeSet<_> = webhooks.map(|webhook| &webhook.deployment_name).collect();
    deployments
        .into_iter()
        .flat_map(|deployment| cert_manager(input.namespace, &WebhookNames::new(deployment)))
        .collect()
}

fn cert_manager<'a>(namespace: &str, names: &WebhookNames) -> [RenderedObject<'a>; 2] {
    const VERSION: &str = "cert-manager.io/v1";
    let metadata = |name| ObjectName {
        name,
        namespace: Some(namespace),
        ..ObjectName::default()
    };
    let issuer = join(&names.certificate, "selfsigned-issuer");
    let host = format!("{}.{namespace}", names.service);
    let issuer_content = json!({"spec": {"selfSigned": {}}, "status": {}});
    let certificate = json!({
        "spec": {
            "secretName": names.certificate,
            "commonName": host,
            "usages": ["server auth"],
            "dnsNames": [host, format!("{host}.svc"), format!("{host}.svc.cluster.local")],
            "issuerRef": {"name": issuer},
            // Two years, renewed a day before their end, as OLM v0 does.
            "duration": "17520h0m0s",
            "renewBefore": "24h0m0s",
        },
        "status": {},
    });
    [
        RenderedObject::new((VERSION, "Issuer"), metadata(&issuer), issuer_content),
        RenderedObject::new(
            (VERSION, "Certificate"),
            metadata(&names.certificate),
            certificate,
        ),
    ]
}
