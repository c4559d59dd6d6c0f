//! How tonic reads requests and writes responses.

use bytes::Buf as _;
use tonic::codec::{DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Status, codec};

use crate::message::Message;
use crate::wire::Request;

/// The codec of all calls: requests are flat and messages write themselves.
pub(crate) struct Codec;

impl codec::Codec for Codec {
    type Encode = Message;
    type Decode = Request;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Codec {
    type Item = Message;
    type Error = Status;

    fn encode(&mut self, message: Message, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.write(out);
        Ok(())
    }
}

impl Decoder for Codec {
    type Item = Request;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Request>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        let damaged =
            "grpc: error unmarshalling request: proto: cannot parse invalid wire-format data";
        Request::decode(bytes)
            .map(Some)
            .map_err(|_| Status::internal(damaged))
    }
}
