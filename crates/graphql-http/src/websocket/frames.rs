//! Frames of outgoing messages (RFC 6455 §5.4): a long message is split, because tungstenite copies
//! each frame into its write buffer, which never shrinks.

use std::iter;

use axum::body::Bytes;
use futures_util::SinkExt as _;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::WebSocket;

/// Maximum payload in bytes of a frame.
const FRAME_BYTES: usize = 64 << 10;

/// Sends a text message that consists of these parts.
pub(super) async fn send(socket: &mut WebSocket, parts: [Bytes; 3]) -> Result<(), Error> {
    for frame in frames(parts) {
        socket.feed(Message::Frame(frame)).await?;
    }
    socket.flush().await
}

/// Returns the frames of a text message.
fn frames(parts: [Bytes; 3]) -> impl Iterator<Item = Frame> {
    let length: usize = parts.iter().map(Bytes::len).sum();
    let payloads = if length <= FRAME_BYTES {
        vec![parts.concat().into()]
    } else {
        parts.into()
    };
    let mut payloads = payloads.into_iter().flat_map(split).peekable();
    let mut data = Data::Text;
    iter::from_fn(move || {
        let payload = payloads.next()?;
        let opcode = OpCode::Data(std::mem::replace(&mut data, Data::Continue));
        Some(Frame::message(payload, opcode, payloads.peek().is_none()))
    })
}

/// Splits bytes into payloads, without copying.
fn split(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    iter::from_fn(move || (!bytes.is_empty()).then(|| bytes.split_to(bytes.len().min(FRAME_BYTES))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(payload: usize) -> Vec<(usize, OpCode, bool)> {
        let parts = [
            Bytes::from_static(b"<<"),
            Bytes::from(vec![b'x'; payload]),
            Bytes::from_static(b">>"),
        ];
        let frames = frames(parts);
        frames
            .map(|frame| {
                (
                    frame.payload().len(),
                    frame.header().opcode,
                    frame.header().is_final,
                )
            })
            .collect()
    }

    #[test]
    fn a_message_is_one_frame_up_to_the_limit_and_several_beyond_it() {
        let first = OpCode::Data(Data::Text);
        let next = OpCode::Data(Data::Continue);
        assert_eq!(lengths(0), [(4, first, true)]);
        assert_eq!(lengths(FRAME_BYTES - 4), [(FRAME_BYTES, first, true)]);
        assert_eq!(
            lengths(FRAME_BYTES - 3),
            [
                (2, first, false),
                (FRAME_BYTES - 3, next, false),
                (2, next, true)
            ]
        );
        let long = [
            (2, first, false),
            (FRAME_BYTES, next, false),
            (1, next, false),
            (2, next, true),
        ];
        assert_eq!(lengths(FRAME_BYTES + 1), long);
    }
}
