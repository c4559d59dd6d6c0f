//! Server reflection, versions `v1` and `v1alpha`, whose messages have one encoding. Errors are
//! messages of the stream, and a file is sent with its imports, once in each stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use bytes::Bytes;
use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};
use tonic::{Code, Status};

use crate::message::ResponseMessage;
use crate::proto::{
    ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse, ReflectionErrorResponse,
    ReflectionQuery, ReflectionRequest, ReflectionResponse, ReflectionResult, ServiceResponse,
};

/// Descriptors of all files in the folder `proto`, compiled by `tests/registry/descriptors.rs`.
const DESCRIPTORS: &[u8] = include_bytes!("descriptors.bin");

/// Names of the services, in the order in which they are listed.
pub(crate) const SERVICES: [&str; 5] = [
    "api.ExperimentalRegistry",
    "api.Registry",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

/// Descriptors of all files.
struct DescriptorFiles {
    by_name: BTreeMap<String, DescriptorFile>,
    /// Names of files by the symbols that they define.
    by_symbol: BTreeMap<String, String>,
}

struct DescriptorFile {
    encoded: Bytes,
    imports: Vec<String>,
}

static FILES: LazyLock<DescriptorFiles> = LazyLock::new(DescriptorFiles::read);

/// State of one stream of reflection requests.
#[derive(Default)]
pub(crate) struct ReflectionStream {
    /// Names of the files that were sent on this stream.
    sent: BTreeSet<String>,
}

impl ReflectionStream {
    /// Answers a request.
    pub(crate) fn answer(&mut self, request: ReflectionRequest) -> Result<ResponseMessage, Status> {
        let Some(query) = &request.query else {
            return Err(Status::invalid_argument("invalid MessageRequest: <nil>"));
        };
        let result = self.find(query).unwrap_or_else(|| {
            ReflectionResult::Error(ReflectionErrorResponse {
                error_code: Code::NotFound.into(),
                error_message: "proto: not found".to_owned(),
            })
        });
        Ok(ResponseMessage::new(&ReflectionResponse {
            valid_host: request.host.clone(),
            original_request: Some(request),
            result: Some(result),
        }))
    }

    fn find(&mut self, query: &ReflectionQuery) -> Option<ReflectionResult> {
        match query {
            ReflectionQuery::FileByFilename(name) => self.files(name),
            ReflectionQuery::FileContainingSymbol(symbol) => {
                self.files(FILES.by_symbol.get(symbol)?)
            }
            // The files define no extensions.
            ReflectionQuery::FileContainingExtension(_) => None,
            ReflectionQuery::AllExtensionNumbersOfType(name) => {
                FILES.by_symbol.contains_key(name).then(|| {
                    ReflectionResult::ExtensionNumbers(ExtensionNumberResponse {
                        base_type_name: name.clone(),
                        extension_number: Vec::new(),
                    })
                })
            }
            ReflectionQuery::ListServices(_) => {
                let service = SERVICES
                    .iter()
                    .map(|name| ServiceResponse {
                        name: (*name).to_owned(),
                    })
                    .collect();
                Some(ReflectionResult::Services(ListServiceResponse { service }))
            }
        }
    }

    /// Returns a file, and those of its imports that were not sent before. The file itself is
    /// returned again where it was sent before, as upstream does.
    fn files(&mut self, name: &str) -> Option<ReflectionResult> {
        FILES.by_name.get(name)?;
        let mut file_descriptor_proto = Vec::new();
        let mut names = vec![name];
        while let Some(next) = names.pop() {
            let is_new = self.sent.insert(next.to_owned());
            if let Some(file) = FILES.by_name.get(next).filter(|_| is_new || next == name) {
                file_descriptor_proto.push(file.encoded.clone());
                names.extend(
                    file.imports
                        .iter()
                        .map(String::as_str)
                        .filter(|import| !self.sent.contains(*import)),
                );
            }
        }
        Some(ReflectionResult::FileDescriptors(FileDescriptorResponse {
            file_descriptor_proto,
        }))
    }
}

impl DescriptorFiles {
    fn read() -> Self {
        let set = FileDescriptorSet::decode(DESCRIPTORS).expect("a test made the descriptors");
        let mut by_name = BTreeMap::new();
        let mut by_symbol = BTreeMap::new();
        for file in set.file {
            let mut add = |name: String| drop(by_symbol.insert(name, file.name().to_owned()));
            let package = file.package();
            file.message_type
                .iter()
                .for_each(|message| add_message(package, message, &mut add));
            file.enum_type
                .iter()
                .for_each(|choice| add_enum(package, choice, &mut add));
            for service in &file.service {
                let name = format!("{package}.{}", service.name());
                service
                    .method
                    .iter()
                    .for_each(|method| add(format!("{name}.{}", method.name())));
                add(name);
            }
            let descriptor = DescriptorFile {
                encoded: file.encode_to_vec().into(),
                imports: file.dependency.clone(),
            };
            by_name.insert(file.name().to_owned(), descriptor);
        }
        Self { by_name, by_symbol }
    }
}

fn add_message(scope: &str, message: &DescriptorProto, add: &mut impl FnMut(String)) {
    let name = format!("{scope}.{}", message.name());
    message
        .field
        .iter()
        .for_each(|field| add(format!("{name}.{}", field.name())));
    message
        .oneof_decl
        .iter()
        .for_each(|oneof| add(format!("{name}.{}", oneof.name())));
    message
        .enum_type
        .iter()
        .for_each(|choice| add_enum(&name, choice, add));
    message
        .nested_type
        .iter()
        .for_each(|nested| add_message(&name, nested, add));
    add(name);
}

/// Adds an enum, and its values as its siblings, as protobuf scopes them.
fn add_enum(scope: &str, choice: &EnumDescriptorProto, add: &mut impl FnMut(String)) {
    choice
        .value
        .iter()
        .for_each(|value| add(format!("{scope}.{}", value.name())));
    add(format!("{scope}.{}", choice.name()));
}
