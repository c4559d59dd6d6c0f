//! Compares the encoding of each message with that of its descriptor.

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use serde_json::{Value, json};

use super::*;

/// Encodes a message that is written as JSON, by its descriptor.
fn encode_json(name: &str, json: &Value) -> Vec<u8> {
    let pool = DescriptorPool::decode(include_bytes!("../descriptors.bin").as_slice()).unwrap();
    let descriptor = pool
        .get_message_by_name(name)
        .unwrap_or_else(|| panic!("there is no message {name}"));
    let members = json.as_object().unwrap();
    let is_oneof = descriptor.oneofs().next().is_some();
    assert!(
        is_oneof || members.len() == descriptor.fields().len(),
        "{name}: a field is not compared"
    );
    DynamicMessage::deserialize(descriptor, json)
        .unwrap()
        .encode_to_vec()
}

/// Asserts that a message and its JSON form have one encoding, in both directions.
fn compare<M: prost::Message + Default + PartialEq + std::fmt::Debug>(
    name: &str,
    message: &M,
    json: &Value,
) {
    let encoded = encode_json(name, json);
    assert_eq!(message.encode_to_vec(), encoded, "{name}");
    assert_eq!(&M::decode(encoded.as_slice()).unwrap(), message, "{name}");
}

fn deprecation() -> DeprecationMessage {
    let message = "old".to_owned();
    DeprecationMessage { message }
}

fn text(value: &'static str) -> Bytes {
    Bytes::from_static(value.as_bytes())
}

#[test]
fn messages_of_packages_and_channels_have_the_encoding_of_their_descriptors() {
    let name = || "a".to_owned();
    compare(
        "api.PackageName",
        &PackageNameMessage { name: name() },
        &json!({"name": "a"}),
    );
    compare(
        "api.GetPackageRequest",
        &GetPackageRequest { name: name() },
        &json!({"name": "a"}),
    );
    let channel = ChannelMessage {
        name: name(),
        csv_name: "a.v1".into(),
        deprecation: Some(deprecation()),
    };
    let channel_json = json!({"name": "a", "csvName": "a.v1", "deprecation": {"message": "old"}});
    compare("api.Channel", &channel, &channel_json);
    compare(
        "api.Package",
        &PackageMessage {
            name: name(),
            channels: vec![channel, ChannelMessage::default()],
            default_channel_name: "stable".into(),
            deprecation: Some(deprecation()),
        },
        &json!({
            "name": "a",
            "channels": [channel_json, {}],
            "defaultChannelName": "stable",
            "deprecation": {"message": "old"},
        }),
    );
    compare(
        "api.ChannelEntry",
        &ChannelEntryMessage {
            package_name: "a".into(),
            channel_name: "stable".into(),
            bundle_name: "a.v2".into(),
            replaces: "a.v1".into(),
        },
        &json!({"packageName": "a", "channelName": "stable", "bundleName": "a.v2", "replaces": "a.v1"}),
    );
}

#[test]
fn a_bundle_has_the_encoding_of_its_descriptor() {
    let api = |kind: &str| ApiMessage {
        group: "g".into(),
        version: "v".into(),
        kind: kind.into(),
        plural: "p".into(),
    };
    let api_json = |kind: &str| json!({"group": "g", "version": "v", "kind": kind, "plural": "p"});
    compare("api.GroupVersionKind", &api("K"), &api_json("K"));
    let property = |name: &str| PropertyMessage {
        r#type: name.into(),
        value: text("{}"),
    };
    let property_json = |name: &str| json!({"type": name, "value": "{}"});
    compare("api.Property", &property("p"), &property_json("p"));
    compare("api.Dependency", &property("d"), &property_json("d"));
    compare(
        "api.Bundle",
        &BundleMessage {
            csv_name: "a.v1".into(),
            package_name: "a".into(),
            channel_name: "stable".into(),
            csv_json: text("{}"),
            object: vec![text("{}"), text("")],
            bundle_path: "image".into(),
            provided_apis: vec![api("P")],
            required_apis: vec![api("R")],
            version: "1.0.0".into(),
            skip_range: "<1.0.0".into(),
            dependencies: vec![property("d")],
            properties: vec![property("p")],
            replaces: "a.v0".into(),
            skips: vec!["b".into(), String::new()],
            deprecation: Some(deprecation()),
        },
        &json!({
            "csvName": "a.v1",
            "packageName": "a",
            "channelName": "stable",
            "csvJson": "{}",
            "object": ["{}", ""],
            "bundlePath": "image",
            "providedApis": [api_json("P")],
            "requiredApis": [api_json("R")],
            "version": "1.0.0",
            "skipRange": "<1.0.0",
            "dependencies": [property_json("d")],
            "properties": [property_json("p")],
            "replaces": "a.v0",
            "skips": ["b", ""],
            "deprecation": {"message": "old"},
        }),
    );
}

#[test]
fn requests_have_the_encoding_of_their_descriptors() {
    let pkg_name = || "a".to_owned();
    let channel_name = || "stable".to_owned();
    let csv_name = || "a.v1".to_owned();
    compare(
        "api.GetBundleRequest",
        &GetBundleRequest {
            pkg_name: pkg_name(),
            channel_name: channel_name(),
            csv_name: csv_name(),
        },
        &json!({"pkgName": "a", "channelName": "stable", "csvName": "a.v1"}),
    );
    compare(
        "api.GetBundleInChannelRequest",
        &GetBundleInChannelRequest {
            pkg_name: pkg_name(),
            channel_name: channel_name(),
        },
        &json!({"pkgName": "a", "channelName": "stable"}),
    );
    compare(
        "api.GetAllReplacementsRequest",
        &GetAllReplacementsRequest {
            csv_name: csv_name(),
        },
        &json!({"csvName": "a.v1"}),
    );
    compare(
        "api.GetReplacementRequest",
        &GetReplacementRequest {
            csv_name: csv_name(),
            pkg_name: pkg_name(),
            channel_name: channel_name(),
        },
        &json!({"csvName": "a.v1", "pkgName": "a", "channelName": "stable"}),
    );
    for name in [
        "api.GetAllProvidersRequest",
        "api.GetLatestProvidersRequest",
        "api.GetDefaultProviderRequest",
    ] {
        compare(
            name,
            &GetProvidersRequest {
                group: "g".into(),
                version: "v".into(),
                kind: "K".into(),
                plural: "p".into(),
            },
            &json!({"group": "g", "version": "v", "kind": "K", "plural": "p"}),
        );
    }
    compare(
        "api.ExperimentalListPackageCustomSchemasRequest",
        &ListCustomSchemasRequest {
            schema: "s".into(),
            package_name: "a".into(),
        },
        &json!({"schema": "s", "packageName": "a"}),
    );
}

#[test]
fn messages_of_health_have_the_encoding_of_their_descriptors() {
    let service = "a".to_owned();
    compare(
        "grpc.health.v1.HealthCheckRequest",
        &HealthCheckRequest { service },
        &json!({"service": "a"}),
    );
    for (status, name) in [
        (ServingStatus::Unknown, "UNKNOWN"),
        (ServingStatus::Serving, "SERVING"),
        (ServingStatus::NotServing, "NOT_SERVING"),
        (ServingStatus::ServiceUnknown, "SERVICE_UNKNOWN"),
    ] {
        let status = status.into();
        compare(
            "grpc.health.v1.HealthCheckResponse",
            &HealthCheckResponse { status },
            &json!({"status": name}),
        );
    }
}

#[test]
fn messages_of_both_versions_of_reflection_have_the_encoding_of_their_descriptors() {
    for version in ["v1", "v1alpha"] {
        let name = |message: &str| format!("grpc.reflection.{version}.{message}");
        let host = || "h".to_owned();
        let queries = [
            (
                ReflectionQuery::FileByFilename("f".into()),
                json!({"host": "h", "fileByFilename": "f"}),
            ),
            (
                ReflectionQuery::FileContainingSymbol("s".into()),
                json!({"host": "h", "fileContainingSymbol": "s"}),
            ),
            (
                ReflectionQuery::FileContainingExtension(ExtensionRequest {
                    containing_type: "t".into(),
                    extension_number: 7,
                }),
                json!({
                    "host": "h",
                    "fileContainingExtension": {"containingType": "t", "extensionNumber": 7},
                }),
            ),
            (
                ReflectionQuery::AllExtensionNumbersOfType("t".into()),
                json!({"host": "h", "allExtensionNumbersOfType": "t"}),
            ),
            (
                ReflectionQuery::ListServices(String::new()),
                json!({"host": "h", "listServices": ""}),
            ),
        ];
        for (query, json) in queries {
            let query = Some(query);
            let request = ReflectionRequest {
                host: host(),
                query,
            };
            compare(&name("ServerReflectionRequest"), &request, &json);
        }

        let file_descriptor_proto = vec![text("abc"), text("")];
        let service = vec![ServiceResponse { name: "s".into() }];
        let results = [
            (
                ReflectionResult::FileDescriptors(FileDescriptorResponse {
                    file_descriptor_proto,
                }),
                json!({"fileDescriptorResponse": {"fileDescriptorProto": ["YWJj", ""]}}),
            ),
            (
                ReflectionResult::ExtensionNumbers(ExtensionNumberResponse {
                    base_type_name: "t".into(),
                    extension_number: vec![1, 2],
                }),
                json!({"allExtensionNumbersResponse": {"baseTypeName": "t", "extensionNumber": [1, 2]}}),
            ),
            (
                ReflectionResult::Services(ListServiceResponse { service }),
                json!({"listServicesResponse": {"service": [{"name": "s"}]}}),
            ),
            (
                ReflectionResult::Error(ReflectionErrorResponse {
                    error_code: 5,
                    error_message: "e".into(),
                }),
                json!({"errorResponse": {"errorCode": 5, "errorMessage": "e"}}),
            ),
        ];
        for (result, mut json) in results {
            json["validHost"] = json!("h");
            json["originalRequest"] = json!({"host": "h"});
            let response = ReflectionResponse {
                valid_host: host(),
                original_request: Some(ReflectionRequest {
                    host: host(),
                    query: None,
                }),
                result: Some(result),
            };
            compare(&name("ServerReflectionResponse"), &response, &json);
        }
    }
}
