//! Schemas of the fields of `ClusterCatalog` that derive macros cannot express, and the validation rules with catalogd's
//! messages.
//!
//! The rules of references are catalogd's word for word: an object that one of the two accepts is then accepted by the
//! other. Two of them find the first colon instead of the last and so refuse a few long references with a port.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::core::Rule;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Maximum number of characters of a reference.
const REFERENCE_LENGTH: u32 = 1000;

/// A rule and its message.
type RuleText = (&'static str, &'static str);

const DOMAIN: RuleText = (
    r"self.matches('^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])((\\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(:[0-9]+)?\\b')",
    r#"must start with a valid domain. valid domains must be alphanumeric characters (lowercase and uppercase) separated by the "." character."#,
);

const NAME: RuleText = (
    r#"self.find('(\\/[a-z0-9]+((([._]|__|[-]*)[a-z0-9]+)+)?((\\/[a-z0-9]+((([._]|__|[-]*)[a-z0-9]+)+)?)+)?)') != """#,
    r#"a valid name is required. valid names must contain lowercase alphanumeric characters separated only by the ".", "_", "__", "-" characters."#,
);

const DIGEST_OR_TAG: RuleText = (
    r#"self.find('(@.*:)') != "" || self.find(':.*$') != """#,
    "must end with a digest or a tag",
);

const DIGEST: RuleText = (r#"self.find('(@.*:)') != """#, "must end with a digest");

const TAG_LENGTH: RuleText = (
    r#"self.find('(@.*:)') == "" ? (self.find(':.*$') != "" ? self.find(':.*$').substring(1).size() <= 127 : true) : true"#,
    "tag is invalid. the tag must not be more than 127 characters",
);

const TAG: RuleText = (
    r#"self.find('(@.*:)') == "" ? (self.find(':.*$') != "" ? self.find(':.*$').matches(':[\\w][\\w.-]*$') : true) : true"#,
    r#"tag is invalid. valid tags must begin with a word character (alphanumeric + "_") followed by word characters or ".", and "-" characters"#,
);

const ALGORITHM: RuleText = (
    r#"self.find('(@.*:)') != "" ? self.find('(@.*:)').matches('(@[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*[:])') : true"#,
    r#"digest algorithm is not valid. valid algorithms must start with an uppercase or lowercase alpha character followed by alphanumeric characters and may contain the "-", "_", "+", and "." characters."#,
);

const ENCODED_LENGTH: RuleText = (
    r#"self.find('(@.*:)') != "" ? self.find(':.*$').substring(1).size() >= 32 : true"#,
    "digest is not valid. the encoded string must be at least 32 characters",
);

const ENCODED: RuleText = (
    r#"self.find('(@.*:)') != "" ? self.find(':.*$').matches(':[0-9A-Fa-f]*$') : true"#,
    "digest is not valid. the encoded string must only contain hex characters (A-F, a-f, 0-9)",
);

const URL: RuleText = ("isURL(self)", "must be a valid URL");

const URL_SCHEME: RuleText = (
    r#"isURL(self) ? (url(self).getScheme() == "http" || url(self).getScheme() == "https") : true"#,
    "scheme must be either http or https",
);

pub(crate) fn image_matches_type() -> Rule {
    Rule::new("has(self.type) && self.type == 'Image' ? has(self.image) : !has(self.image)")
        .message("image is required when source type is Image, and forbidden otherwise")
}

pub(crate) fn only_tags_are_polled() -> Rule {
    Rule::new(r#"self.ref.find('(@.*:)') != "" ? !has(self.pollIntervalMinutes) : true"#)
        .message("cannot specify pollIntervalMinutes while using digest-based image")
}

pub(crate) fn image_reference(_: &mut SchemaGenerator) -> Schema {
    let rules = [
        DOMAIN,
        NAME,
        DIGEST_OR_TAG,
        TAG_LENGTH,
        TAG,
        ALGORITHM,
        ENCODED_LENGTH,
        ENCODED,
    ];
    text(REFERENCE_LENGTH, &rules)
}

pub(crate) fn resolved_reference(_: &mut SchemaGenerator) -> Schema {
    text(
        REFERENCE_LENGTH,
        &[DOMAIN, NAME, DIGEST, ALGORITHM, ENCODED_LENGTH, ENCODED],
    )
}

pub(crate) fn base_url(_: &mut SchemaGenerator) -> Schema {
    text(525, &[URL, URL_SCHEME])
}

pub(crate) fn source_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["Image"] })
}

pub(crate) fn availability_mode(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["Unavailable", "Available"] })
}

pub(crate) fn priority(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "format": "int32", "minimum": i32::MIN, "maximum": i32::MAX })
}

pub(crate) fn poll_interval(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1 })
}

pub(crate) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// The conditions of the Kubernetes API conventions, by type.
pub(crate) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the state of the catalog.",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When the status of the condition changed last.",
                },
                "message": {
                    "type": "string",
                    "maxLength": 32768,
                    "description": "What happened, for people.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "The generation of the object that the condition is about.",
                },
                "reason": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                    "description": "What happened, in one word.",
                },
                "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
                "type": {
                    "type": "string",
                    "maxLength": 316,
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
            },
        },
    })
}

/// Makes optional fields absent instead of null, as catalogd's are.
pub(crate) fn forbid_null(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema
        .properties
        .iter_mut()
        .flat_map(|properties| properties.values_mut())
        .for_each(forbid_null);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        forbid_null(items);
    }
}

/// Names the metadata, which every object has.
pub(crate) fn require_metadata(schema: &mut JSONSchemaProps) {
    let metadata = JSONSchemaProps {
        type_: Some("object".to_owned()),
        ..JSONSchemaProps::default()
    };
    schema
        .properties
        .get_or_insert_default()
        .insert("metadata".to_owned(), metadata);
    schema
        .required
        .get_or_insert_default()
        .insert(0, "metadata".to_owned());
}

fn text(length: u32, rules: &[RuleText]) -> Schema {
    let rules: Vec<Value> = rules
        .iter()
        .map(|(rule, message)| json!({ "rule": rule, "message": message }))
        .collect();
    json_schema!({ "type": "string", "maxLength": length, "x-kubernetes-validations": rules })
}
