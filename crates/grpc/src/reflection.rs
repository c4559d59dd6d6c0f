//! Server reflection, versions `v1` and `v1alpha`, whose messages are alike: errors are answers,
//! and a file comes with those that it imports, once in each stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use bytes::Bytes;
use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet};
use tonic::Status;

use crate::message::Message;
use crate::wire::{Request, write_bytes, write_head, write_number, write_texts};

/// The descriptors of all files, as `tests/descriptors.rs` makes them of the folder `proto`.
const DESCRIPTORS: &[u8] = include_bytes!("descriptors.bin");

/// The services, in the order in which they are listed.
pub(crate) const SERVICES: [&str; 5] = [
    "api.ExperimentalRegistry",
    "api.Registry",
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];

/// The files, by name, and the names of those that define each symbol.
struct Files {
    files: BTreeMap<String, File>,
    symbols: BTreeMap<String, String>,
}

struct File {
    encoded: Bytes,
    imports: Vec<String>,
}

static FILES: LazyLock<Files> = LazyLock::new(Files::read);

/// A stream of requests.
#[derive(Default)]
pub(crate) struct Reflection {
    /// Names of the files that the client has.
    sent: BTreeSet<String>,
}

impl Reflection {
    /// Answers a request.
    pub(crate) fn answer(&mut self, request: &Request) -> Result<Message, Status> {
        let Some(kind) = request.last_of(&[3, 4, 5, 6, 7]) else {
            return Err(Status::invalid_argument("invalid MessageRequest: <nil>"));
        };
        let text = request.text(kind);
        let files = &*FILES;
        let mut answer = Vec::new();
        let is_found = match kind {
            3 => files.files.contains_key(text) && self.write_file(text, &mut answer),
            4 => files
                .symbols
                .get(text)
                .is_some_and(|file| self.write_file(file, &mut answer)),
            6 if files.symbols.contains_key(text) => {
                write_texts(5, &[text], &mut answer);
                true
            }
            7 => {
                let mut services = Vec::new();
                for service in SERVICES {
                    write_texts(1, &[service], &mut services);
                }
                write_bytes(6, &services, &mut answer);
                true
            }
            _ => false,
        };
        if !is_found {
            write_not_found(&mut answer);
        }
        let mut message = Vec::new();
        let host = request.text(1);
        if !host.is_empty() {
            write_bytes(1, host.as_bytes(), &mut message);
        }
        write_bytes(2, &request.bytes, &mut message);
        message.extend_from_slice(&answer);
        Ok(Message::Encoded(message))
    }

    /// Writes a file and those that it imports which the client has not yet; the file itself
    /// always.
    fn write_file(&mut self, name: &str, answer: &mut Vec<u8>) -> bool {
        let mut message = Vec::new();
        let mut names = vec![name];
        while let Some(next) = names.pop() {
            let is_new = self.sent.insert(next.to_owned());
            if let Some(file) = FILES.files.get(next).filter(|_| is_new || next == name) {
                write_bytes(1, &file.encoded, &mut message);
                names.extend(
                    file.imports
                        .iter()
                        .map(String::as_str)
                        .filter(|import| !self.sent.contains(*import)),
                );
            }
        }
        write_head(4, message.len(), answer);
        answer.extend_from_slice(&message);
        true
    }
}

fn write_not_found(answer: &mut Vec<u8>) {
    let mut error = Vec::new();
    write_number(1, tonic::Code::NotFound as u64, &mut error);
    write_bytes(2, b"proto: not found", &mut error);
    write_bytes(7, &error, answer);
}

impl Files {
    fn read() -> Self {
        let set = FileDescriptorSet::decode(DESCRIPTORS).expect("a test made the descriptors");
        let mut files = BTreeMap::new();
        let mut symbols = BTreeMap::new();
        for file in set.file {
            let mut add = |name: String| drop(symbols.insert(name, file.name().to_owned()));
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
            let FileDescriptorProto {
                dependency: imports,
                ..
            } = &file;
            let kept = File {
                encoded: file.encode_to_vec().into(),
                imports: imports.clone(),
            };
            files.insert(file.name().to_owned(), kept);
        }
        Self { files, symbols }
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

/// Adds an enum, and its values beside it, which is where protobuf has them.
fn add_enum(scope: &str, choice: &EnumDescriptorProto, add: &mut impl FnMut(String)) {
    choice
        .value
        .iter()
        .for_each(|value| add(format!("{scope}.{}", value.name())));
    add(format!("{scope}.{}", choice.name()));
}
