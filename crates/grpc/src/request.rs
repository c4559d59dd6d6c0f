//! Requests of all calls, decoded as Go's library decodes them.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use tonic::Status;

use crate::metrics::Call;
use crate::proto::{
    GetAllReplacementsRequest, GetBundleInChannelRequest, GetBundleRequest, GetPackageRequest,
    GetProvidersRequest, GetReplacementRequest, HealthCheckRequest, ListCustomSchemasRequest,
    ReflectionRequest,
};

/// A call with its request.
#[derive(Debug)]
pub(crate) enum CallRequest {
    ListPackages,
    GetPackage(GetPackageRequest),
    GetBundle(GetBundleRequest),
    GetBundleForChannel(GetBundleInChannelRequest),
    GetChannelEntriesThatReplace(GetAllReplacementsRequest),
    GetBundleThatReplaces(GetReplacementRequest),
    GetChannelEntriesThatProvide(GetProvidersRequest),
    GetLatestChannelEntriesThatProvide(GetProvidersRequest),
    GetDefaultBundleThatProvides(GetProvidersRequest),
    ListBundles,
    ListCustomSchemas(ListCustomSchemasRequest),
    Check(HealthCheckRequest),
    Reflect(ReflectionRequest),
}

impl CallRequest {
    /// Decodes the request of a call.
    pub(crate) fn decode(call: Call, bytes: &[u8]) -> Result<Self, Status> {
        Ok(match call {
            Call::ListPackages => {
                remove_other_wire_types(bytes).map_err(|_| invalid_wire_format())?;
                Self::ListPackages
            }
            Call::GetPackage => Self::GetPackage(decode(bytes)?),
            Call::GetBundle => Self::GetBundle(decode(bytes)?),
            Call::GetBundleForChannel => Self::GetBundleForChannel(decode(bytes)?),
            Call::GetChannelEntriesThatReplace => {
                Self::GetChannelEntriesThatReplace(decode(bytes)?)
            }
            Call::GetBundleThatReplaces => Self::GetBundleThatReplaces(decode(bytes)?),
            Call::GetChannelEntriesThatProvide => {
                Self::GetChannelEntriesThatProvide(decode(bytes)?)
            }
            Call::GetLatestChannelEntriesThatProvide => {
                Self::GetLatestChannelEntriesThatProvide(decode(bytes)?)
            }
            Call::GetDefaultBundleThatProvides => {
                Self::GetDefaultBundleThatProvides(decode(bytes)?)
            }
            Call::ListBundles => {
                remove_other_wire_types(bytes).map_err(|_| invalid_wire_format())?;
                Self::ListBundles
            }
            Call::ListCustomSchemas => Self::ListCustomSchemas(decode(bytes)?),
            Call::Check => Self::Check(decode(bytes)?),
            Call::Reflect => Self::Reflect(decode(bytes)?),
            Call::Unknown => return Err(Status::unimplemented("unknown method")),
        })
    }
}

/// Decodes a message whose fields are all strings or messages.
fn decode<M: prost::Message + Default>(bytes: &[u8]) -> Result<M, Status> {
    let fields = remove_other_wire_types(bytes).map_err(|_| invalid_wire_format())?;
    // The message has been read to its end, so that only a string can be at fault.
    M::decode(fields).map_err(|_| {
        Status::internal("grpc: error unmarshalling request: string field contains invalid UTF-8")
    })
}

/// Returns the fields of a message that are strings or messages. Go skips a known field of another
/// wire type as it skips unknown fields; prost refuses it.
fn remove_other_wire_types(message: &[u8]) -> Result<Bytes, DecodeError> {
    let mut rest = message;
    let mut kept = BytesMut::with_capacity(message.len());
    while rest.has_remaining() {
        let field = rest;
        let (tag, wire_type) = decode_key(&mut rest)?;
        skip_field(wire_type, tag, &mut rest, DecodeContext::default())?;
        if wire_type == WireType::LengthDelimited {
            kept.put_slice(&field[..field.len() - rest.len()]);
        }
    }
    Ok(kept.freeze())
}

fn invalid_wire_format() -> Status {
    Status::internal(
        "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_gos_library_reads_it() {
        let read = |bytes: &[u8]| match CallRequest::decode(Call::GetPackage, bytes) {
            Ok(CallRequest::GetPackage(request)) => Ok(request.name),
            Ok(other) => panic!("{other:?}"),
            Err(status) => Err(status.message().to_owned()),
        };
        let last = read(b"\x0a\x01x\x0a\x01y\x12\x00");
        assert_eq!(last.as_deref(), Ok("y"), "the last one counts");
        let skipped = read(b"\x08\x01\x98\x06\x01");
        assert_eq!(
            skipped.as_deref(),
            Ok(""),
            "of another type, and of an unknown number"
        );
        let invalid = read(b"\x0a\x01\xff").unwrap_err();
        assert!(
            invalid.ends_with("string field contains invalid UTF-8"),
            "{invalid}"
        );
        for damaged in [b"\x0a\xff".as_slice(), b"\x0a\x05x", b"\0", b"\x0a"] {
            let error = read(damaged).unwrap_err();
            assert!(
                error.ends_with("cannot parse invalid wire-format data"),
                "{error}"
            );
            assert!(
                CallRequest::decode(Call::ListBundles, damaged).is_err(),
                "{damaged:?}"
            );
        }
    }
}
