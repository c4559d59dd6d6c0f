//! Descriptions of APIs for users: custom resources and aggregated APIs, with hints on how to show
//! their fields.

use fbc_read::json::JsonText;

use super::csv::CsvMetadata;
use super::layout::MetadataField;
use super::lists;

/// Description of a custom resource for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrdDescription<'a> {
    /// Name of the definition, such as `etcdclusters.etcd.database.coreos.com`; empty when it is
    /// missing.
    pub name: JsonText<'a>,
    /// API version; empty when it is missing.
    pub version: JsonText<'a>,
    /// Kind; empty when it is missing.
    pub kind: JsonText<'a>,
    /// Display name; `None` when missing or empty.
    pub display_name: Option<JsonText<'a>>,
    /// Description; `None` when missing or empty.
    pub description: Option<JsonText<'a>>,
    /// Its JSON object, from which the lists are read.
    text: &'a [u8],
}

/// Description of an API that an aggregated API server provides. Missing texts are empty where they
/// are not optional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiServiceDescription<'a> {
    /// Name, such as `v1beta1.metrics.k8s.io`.
    pub name: JsonText<'a>,
    /// API group.
    pub group: JsonText<'a>,
    /// API version.
    pub version: JsonText<'a>,
    /// Kind.
    pub kind: JsonText<'a>,
    /// Display name; `None` when missing or empty.
    pub display_name: Option<JsonText<'a>>,
    /// Description; `None` when missing or empty.
    pub description: Option<JsonText<'a>>,
    /// Name of the deployment that serves it; `None` when missing or empty, as for a required API.
    pub deployment_name: Option<JsonText<'a>>,
}

/// A kind of resource that belongs to a custom resource; missing texts are empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceReference<'a> {
    /// Name of the definition or the resource.
    pub name: JsonText<'a>,
    /// API version.
    pub version: JsonText<'a>,
    /// Kind.
    pub kind: JsonText<'a>,
}

/// Description of a field of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDescriptor<'a> {
    /// Path below `spec` or `status`; empty when it is missing.
    pub path: JsonText<'a>,
    /// Display name; `None` when missing or empty.
    pub display_name: Option<JsonText<'a>>,
    /// Description; `None` when missing or empty.
    pub description: Option<JsonText<'a>>,
    /// Hints for user interfaces.
    pub x_descriptors: Vec<JsonText<'a>>,
}

impl CsvMetadata<'_> {
    /// Returns the custom resources that it defines, in the author's order.
    pub fn owned_crds(&self) -> Vec<CrdDescription<'_>> {
        self.crds(MetadataField::OwnedCrds)
    }

    /// Returns the custom resources that it requires, in the author's order.
    pub fn required_crds(&self) -> Vec<CrdDescription<'_>> {
        self.crds(MetadataField::RequiredCrds)
    }

    /// Returns the aggregated APIs that it provides, in the author's order.
    pub fn owned_api_services(&self) -> Vec<ApiServiceDescription<'_>> {
        self.api_services(MetadataField::OwnedApiServices)
    }

    /// Returns the aggregated APIs that it requires, in the author's order.
    pub fn required_api_services(&self) -> Vec<ApiServiceDescription<'_>> {
        self.api_services(MetadataField::RequiredApiServices)
    }

    fn crds(&self, field: MetadataField) -> Vec<CrdDescription<'_>> {
        let fields = ["name", "version", "kind", "displayName", "description"];
        let make = |text, [name, version, kind, display_name, description]: [Option<_>; 5]| {
            let [name, version, kind] =
                [name, version, kind].map(|text| text.unwrap_or(JsonText::EMPTY));
            Some(CrdDescription {
                name,
                version,
                kind,
                display_name,
                description,
                text,
            })
        };
        self.value(field)
            .map(|array| lists::objects_with_text(array, fields, make))
            .unwrap_or_default()
    }

    fn api_services(&self, field: MetadataField) -> Vec<ApiServiceDescription<'_>> {
        let fields = [
            "name",
            "group",
            "version",
            "kind",
            "displayName",
            "description",
            "deploymentName",
        ];
        self.objects(
            field,
            fields,
            |[
                name,
                group,
                version,
                kind,
                display_name,
                description,
                deployment_name,
            ]| {
                let [name, group, version, kind] =
                    [name, group, version, kind].map(|text| text.unwrap_or(JsonText::EMPTY));
                Some(ApiServiceDescription {
                    name,
                    group,
                    version,
                    kind,
                    display_name,
                    description,
                    deployment_name,
                })
            },
        )
    }
}

impl<'a> CrdDescription<'a> {
    /// Size of its JSON text in bytes: what it takes to read one of its lists.
    pub fn bytes(self) -> usize {
        self.text.len()
    }

    /// Returns the kinds of resources that belong to one resource of this kind, in the author's
    /// order.
    pub fn resources(self) -> Vec<ResourceReference<'a>> {
        lists::objects(
            self.list("resources"),
            ["name", "version", "kind"],
            |texts| {
                let [name, version, kind] = texts.map(|text| text.unwrap_or(JsonText::EMPTY));
                Some(ResourceReference {
                    name,
                    version,
                    kind,
                })
            },
        )
    }

    /// Returns how to show fields of `spec`, in the author's order.
    pub fn spec_descriptors(self) -> Vec<FieldDescriptor<'a>> {
        self.descriptors("specDescriptors")
    }

    /// Returns how to show fields of `status`, in the author's order.
    pub fn status_descriptors(self) -> Vec<FieldDescriptor<'a>> {
        self.descriptors("statusDescriptors")
    }

    fn descriptors(self, name: &str) -> Vec<FieldDescriptor<'a>> {
        let fields = ["path", "displayName", "description"];
        lists::objects_with_text(
            self.list(name),
            fields,
            |object, [path, display_name, description]| {
                let x_descriptors = lists::array_member(object, "x-descriptors")
                    .map(lists::strings)
                    .unwrap_or_default();
                Some(FieldDescriptor {
                    path: path.unwrap_or(JsonText::EMPTY),
                    display_name,
                    description,
                    x_descriptors,
                })
            },
        )
    }

    fn list(self, name: &str) -> &'a [u8] {
        lists::array_member(self.text, name).unwrap_or(b"[]")
    }
}
