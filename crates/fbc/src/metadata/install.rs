//! Permissions and webhooks of an operator in a cluster. Only a
//! `ClusterServiceVersion` says so; an `olm.csv.metadata` leaves it out.

use fbc_read::json::JsonText;

use super::csv::CsvMetadata;
use super::layout::MetadataField;
use super::lists;

/// Permissions of a service account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceAccountPermissions<'a> {
    /// Name of the service account; empty when it is missing.
    pub service_account_name: JsonText<'a>,
    /// Its JSON object, from which the rules are read.
    text: &'a [u8],
}

/// An RBAC rule: a JSON object, from which its lists are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyRule<'a>(&'a [u8]);

/// A webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookDescription<'a> {
    /// Prefix of its name; empty when it is missing.
    pub generate_name: JsonText<'a>,
    /// Type of the webhook; `None` when missing or unknown.
    pub kind: Option<WebhookType>,
    /// Name of the deployment that serves it; `None` when missing or empty.
    pub deployment_name: Option<JsonText<'a>>,
    /// URL path; `None` when missing or empty.
    pub path: Option<JsonText<'a>>,
    /// Policy for failed calls (`failurePolicy`), as written; `None` when missing or empty.
    pub failure_policy: Option<JsonText<'a>>,
    /// Its JSON object, from which the lists are read.
    text: &'a [u8],
}

/// Requests that a webhook is called for: a JSON object, from which its lists are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookRule<'a>(&'a [u8]);

/// Type of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookType {
    /// Validates requests.
    Validating,
    /// Changes requests.
    Mutating,
    /// Converts custom resources between versions.
    Conversion,
}

impl CsvMetadata<'_> {
    /// Size of what it says of permissions and webhooks, in bytes: what it takes to read one of the
    /// lists.
    pub fn install_bytes(&self) -> usize {
        let fields = [
            MetadataField::Permissions,
            MetadataField::ClusterPermissions,
            MetadataField::Webhooks,
        ];
        fields
            .into_iter()
            .map(|field| self.value(field).map_or(0, <[u8]>::len))
            .sum()
    }

    /// Returns the permissions in the namespaces that it watches, in the author's order; `None`
    /// when the metadata is not that of a `ClusterServiceVersion`.
    pub fn permissions(&self) -> Option<Vec<ServiceAccountPermissions<'_>>> {
        self.service_accounts(MetadataField::Permissions)
    }

    /// Returns the permissions in the whole cluster, in the author's order; `None` as for
    /// [`CsvMetadata::permissions`].
    pub fn cluster_permissions(&self) -> Option<Vec<ServiceAccountPermissions<'_>>> {
        self.service_accounts(MetadataField::ClusterPermissions)
    }

    /// Returns the webhooks, in the author's order; `None` as for [`CsvMetadata::permissions`].
    pub fn webhooks(&self) -> Option<Vec<WebhookDescription<'_>>> {
        let fields = [
            "generateName",
            "type",
            "deploymentName",
            "webhookPath",
            "failurePolicy",
        ];
        let array = self.install_list(MetadataField::Webhooks)?;
        Some(lists::objects_with_text(array, fields, |text, texts| {
            Some(WebhookDescription::new(text, texts))
        }))
    }

    fn service_accounts(&self, field: MetadataField) -> Option<Vec<ServiceAccountPermissions<'_>>> {
        let array = self.install_list(field)?;
        Some(lists::objects_with_text(
            array,
            ["serviceAccountName"],
            |text, [name]| {
                Some(ServiceAccountPermissions {
                    service_account_name: name.unwrap_or(JsonText::EMPTY),
                    text,
                })
            },
        ))
    }

    /// Returns a list of a `ClusterServiceVersion`, empty if it is absent; `None` for other
    /// metadata.
    fn install_list(&self, field: MetadataField) -> Option<&[u8]> {
        self.is_manifest.then(|| self.value(field).unwrap_or(b"[]"))
    }
}

impl<'a> ServiceAccountPermissions<'a> {
    /// Returns the rules, in the author's order.
    pub fn rules(self) -> Vec<PolicyRule<'a>> {
        let array = lists::array_member(self.text, "rules").unwrap_or(b"[]");
        lists::objects_with_text(array, [], |text, []| Some(PolicyRule(text)))
    }
}

impl<'a> PolicyRule<'a> {
    /// Returns the API groups; the empty text is the core group.
    pub fn api_groups(self) -> Vec<JsonText<'a>> {
        strings(self.0, "apiGroups")
    }

    /// Returns the resources.
    pub fn resources(self) -> Vec<JsonText<'a>> {
        strings(self.0, "resources")
    }

    /// Returns the names of the resources; empty stands for every name.
    pub fn resource_names(self) -> Vec<JsonText<'a>> {
        strings(self.0, "resourceNames")
    }

    /// Returns the verbs.
    pub fn verbs(self) -> Vec<JsonText<'a>> {
        strings(self.0, "verbs")
    }

    /// Returns the URL paths that are not resources.
    pub fn non_resource_urls(self) -> Vec<JsonText<'a>> {
        strings(self.0, "nonResourceURLs")
    }
}

impl<'a> WebhookDescription<'a> {
    fn new(text: &'a [u8], texts: [Option<JsonText<'a>>; 5]) -> Self {
        let [generate_name, kind, deployment_name, path, failure_policy] = texts;
        let kind = kind.and_then(|kind| WebhookType::parse(&kind.decode()));
        let generate_name = generate_name.unwrap_or(JsonText::EMPTY);
        Self {
            generate_name,
            kind,
            deployment_name,
            path,
            failure_policy,
            text,
        }
    }

    /// Returns the requests that it is called for; empty for conversion webhooks.
    pub fn rules(self) -> Vec<WebhookRule<'a>> {
        let array = lists::array_member(self.text, "rules").unwrap_or(b"[]");
        lists::objects_with_text(array, [], |text, []| Some(WebhookRule(text)))
    }

    /// Returns the names of the custom resource definitions that it converts; empty for other
    /// types.
    pub fn conversion_crds(self) -> Vec<JsonText<'a>> {
        strings(self.text, "conversionCRDs")
    }
}

impl<'a> WebhookRule<'a> {
    /// Returns the API groups; the empty text is the core group.
    pub fn api_groups(self) -> Vec<JsonText<'a>> {
        strings(self.0, "apiGroups")
    }

    /// Returns the API versions.
    pub fn api_versions(self) -> Vec<JsonText<'a>> {
        strings(self.0, "apiVersions")
    }

    /// Returns the resources.
    pub fn resources(self) -> Vec<JsonText<'a>> {
        strings(self.0, "resources")
    }

    /// Returns the operations, such as `CREATE`.
    pub fn operations(self) -> Vec<JsonText<'a>> {
        strings(self.0, "operations")
    }
}

impl WebhookType {
    /// Parses the name of a type as it is written in a `ClusterServiceVersion`.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "ValidatingAdmissionWebhook" => Some(Self::Validating),
            "MutatingAdmissionWebhook" => Some(Self::Mutating),
            "ConversionWebhook" => Some(Self::Conversion),
            _ => None,
        }
    }

    /// Returns the canonical spelling, such as `VALIDATING`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "VALIDATING",
            Self::Mutating => "MUTATING",
            Self::Conversion => "CONVERSION",
        }
    }
}

fn strings<'a>(object: &'a [u8], name: &str) -> Vec<JsonText<'a>> {
    lists::array_member(object, name)
        .map(lists::strings)
        .unwrap_or_default()
}
