//! Stream that draws incomplete messages from the budget for bodies that are being read. Otherwise
//! every open connection could hold a message of the maximum length for as long as it likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use admission::Peer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::budget::{ByteBudget, BytePermit};

/// Maximum number of bytes of an incomplete message that draw from no budget: the size of the read
/// buffer of each connection.
pub const UNCOUNTED_MESSAGE_BYTES: usize = super::BUFFER_BYTES;

/// Length in bytes of the header of a frame whose payload has up to 125 bytes, as all control
/// frames of clients have.
const CONTROL_HEADER_BYTES: usize = 6;

/// The stream of a connection, which counts the bytes of the message that it is reading.
pub(super) struct MeteredStream<S> {
    stream: S,
    budget: ByteBudget,
    peer: Peer,
    /// Maximum length in bytes of a message.
    maximum: usize,
    /// Number of bytes that were read since the last complete message.
    unfinished: usize,
    /// The permit for an incomplete message of any length.
    permit: Option<BytePermit>,
}

impl<S> MeteredStream<S> {
    pub(super) fn new(stream: S, budget: ByteBudget, peer: Peer, maximum: usize) -> Self {
        Self {
            stream,
            budget,
            peer,
            maximum,
            unfinished: 0,
            permit: None,
        }
    }

    /// Counts from zero, because a message is complete.
    pub(super) fn complete(&mut self) {
        self.unfinished = 0;
        self.permit = None;
    }

    /// Subtracts a control frame, which may come between the frames of a message.
    pub(super) fn ignore_control(&mut self, payload: usize) {
        self.unfinished = self
            .unfinished
            .saturating_sub(payload + CONTROL_HEADER_BYTES);
    }
}

/// Returns whether the budget for incomplete messages is exhausted.
pub(super) fn is_budget_exhausted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::QuotaExceeded
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unfinished > UNCOUNTED_MESSAGE_BYTES && self.permit.is_none() {
            let permit = self.budget.try_acquire(self.peer, self.maximum);
            self.permit = Some(permit.ok_or(io::ErrorKind::QuotaExceeded)?);
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.unfinished += buffer.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MeteredStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt as _, StreamExt as _};
    use tokio::io::{AsyncWriteExt as _, DuplexStream, duplex};
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::Message;
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;
    use crate::budget::BUDGET_UNIT;

    const MAXIMUM: usize = 64 * BUDGET_UNIT;

    /// A frame of a client, whose mask is zero.
    fn frame(first: u8, payload: u16) -> Vec<u8> {
        let mut frame = vec![first];
        if payload <= 125 {
            frame.push(0x80 | payload.to_le_bytes()[0]);
        } else {
            frame.push(0xfe);
            frame.extend(payload.to_be_bytes());
        }
        frame.extend([0; 4]);
        frame.extend(std::iter::repeat_n(b'x', payload.into()));
        frame
    }

    /// The beginning of a text message, without an end.
    fn unfinished(payload: u16) -> Vec<u8> {
        frame(0x01, payload)
    }

    fn last_of_message(payload: u16) -> Vec<u8> {
        frame(0x80, payload)
    }

    fn ping(payload: u16) -> Vec<u8> {
        frame(0x89, payload)
    }

    struct Client {
        stream: DuplexStream,
        socket: WebSocketStream<MeteredStream<DuplexStream>>,
    }

    impl Client {
        async fn new(budget: &ByteBudget, peer: u8) -> Self {
            let (stream, own) = duplex(1 << 20);
            let peer = Peer::new([192, 0, 2, peer].into());
            let metered = MeteredStream::new(own, budget.clone(), peer, MAXIMUM);
            Self {
                stream,
                socket: WebSocketStream::from_raw_socket(metered, Role::Server, None).await,
            }
        }

        /// Sends bytes, and reads what there is; the error is that of a stream that is refused.
        async fn send(&mut self, bytes: &[u8]) -> Result<usize, io::ErrorKind> {
            self.stream.write_all(bytes).await.unwrap();
            let mut messages = 0;
            loop {
                match self.socket.next().now_or_never() {
                    Some(Some(Ok(Message::Ping(payload)))) => {
                        self.socket.get_mut().ignore_control(payload.len());
                    }
                    Some(Some(Ok(_))) => {
                        self.socket.get_mut().complete();
                        messages += 1;
                    }
                    Some(Some(Err(tokio_tungstenite::tungstenite::Error::Io(error)))) => {
                        return Err(error.kind());
                    }
                    Some(other) => panic!("{other:?}"),
                    None => return Ok(messages),
                }
            }
        }
    }

    #[tokio::test]
    async fn an_unfinished_message_draws_from_the_budget_until_it_is_complete() {
        let budget = ByteBudget::new(4 * MAXIMUM, 4 * MAXIMUM, 0);
        let mut first = Client::new(&budget, 1).await;
        assert_eq!(
            first
                .send(&unfinished(
                    u16::try_from(UNCOUNTED_MESSAGE_BYTES).unwrap() - 8
                ))
                .await,
            Ok(0)
        );
        assert_eq!(budget.used_bytes(), 0);
        assert_eq!(first.send(&frame(0x00, 1_000)).await, Ok(0));
        assert_eq!(first.send(&frame(0x00, 1_000)).await, Ok(0));
        assert_eq!(budget.used_bytes(), MAXIMUM);
        // What comes between the frames of a message does not complete it.
        assert_eq!(first.send(&ping(125)).await, Ok(0));
        assert_eq!(budget.used_bytes(), MAXIMUM);

        let mut second = Client::new(&budget, 1).await;
        let mut third = Client::new(&budget, 1).await;
        let mut other = Client::new(&budget, 2).await;
        for (client, expected) in [
            (&mut second, Ok(0)),
            (&mut third, Err(io::ErrorKind::QuotaExceeded)),
            (&mut other, Ok(0)),
        ] {
            // The first bytes are counted when the next ones are read.
            assert_eq!(
                client
                    .send(&unfinished(20_000)[..UNCOUNTED_MESSAGE_BYTES])
                    .await,
                Ok(0)
            );
            assert_eq!(client.send(&[b'x'; 3_000]).await, expected);
        }
        assert_eq!(budget.used_bytes(), 3 * MAXIMUM, "half for one peer");
        assert_eq!(first.send(&last_of_message(1)).await, Ok(1));
        assert_eq!(budget.used_bytes(), 2 * MAXIMUM);
        drop((second, other));
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn a_connection_on_which_only_control_frames_come_never_draws_from_the_budget() {
        let budget = ByteBudget::new(MAXIMUM, MAXIMUM, 0);
        let mut client = Client::new(&budget, 1).await;
        for length in (0..=125).cycle().take(1_000) {
            assert_eq!(client.send(&ping(length)).await, Ok(0));
        }
        assert_eq!(
            (budget.used_bytes(), client.socket.get_ref().unfinished),
            (0, 0)
        );
    }
}
