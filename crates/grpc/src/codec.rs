//! Codec of tonic: decodes requests by their call, and encodes responses.

use bytes::Buf as _;
use tonic::codec::{DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Status, codec};

use crate::message::ResponseMessage;
use crate::metrics::Call;
use crate::request::CallRequest;

/// The codec of one call.
#[derive(Clone, Copy)]
pub(crate) struct Codec(pub(crate) Call);

impl codec::Codec for Codec {
    type Encode = ResponseMessage;
    type Decode = CallRequest;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Codec {
    type Item = ResponseMessage;
    type Error = Status;

    fn encode(&mut self, message: ResponseMessage, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message.encode(out);
        Ok(())
    }
}

impl Decoder for Codec {
    type Item = CallRequest;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<CallRequest>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        CallRequest::decode(self.0, &bytes).map(Some)
    }
}
