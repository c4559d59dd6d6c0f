//! Writes of an HTTP/2 connection, gathered. h2 flushes after each frame, which is a system call
//! and a segment for every 16 KiB of a response; here, what is written while the connection is
//! polled is sent at its end, or when much of it waits. It waits encrypted, in the buffers of
//! rustls: nothing is copied for it. Without TLS there is no such buffer, and what is written is
//! sent.

use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Number of bytes that wait before more are only taken once they are sent.
pub const GATHERED_BYTES: usize = 64 * 1024;

/// A connection that sends what is written when it is told to, if it is one of TLS. Clones share
/// it.
#[derive(Clone)]
pub(super) struct GatheredWrites(Arc<Mutex<Gathered>>);

enum Transport {
    Tls(Box<TlsStream<TcpStream>>),
    Plain(TcpStream),
}

struct Gathered {
    stream: Transport,
    /// Bytes that were written since the last ones were sent, before encryption.
    waiting: usize,
}

impl GatheredWrites {
    pub(super) fn new(mut stream: TlsStream<TcpStream>) -> Self {
        // Its own limit would split records where it is reached.
        stream.get_mut().1.set_buffer_limit(None);
        Self(Arc::new(Mutex::new(Gathered {
            stream: Transport::Tls(Box::new(stream)),
            waiting: 0,
        })))
    }

    /// Wraps a connection without TLS.
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(Gathered {
            stream: Transport::Plain(stream),
            waiting: 0,
        })))
    }

    /// Polls what writes to the connection, and sends what it has written.
    pub(super) fn poll<F: Future>(
        &self,
        writer: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let polled = writer.poll(context);
        // The next read or write fails, too.
        let _ = self.stream().send(context);
        polled
    }

    fn stream(&self) -> MutexGuard<'_, Gathered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathered {
    /// Sends what waits.
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Transport::Tls(stream) = &mut self.stream
            && stream.get_ref().1.wants_write()
        {
            ready!(Pin::new(stream).poll_flush(context))?;
        }
        self.waiting = 0;
        Poll::Ready(Ok(()))
    }

    fn write(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.waiting >= GATHERED_BYTES {
            ready!(self.send(context))?;
        }
        match &mut self.stream {
            Transport::Tls(stream) => {
                let mut writer = stream.get_mut().1.writer();
                let written = match writer.write_vectored(slices)? {
                    // Keys that have encrypted as much as they may are renewed in place of the
                    // first write.
                    0 => writer.write_vectored(slices)?,
                    written => written,
                };
                self.waiting += written;
                Poll::Ready(Ok(written))
            }
            Transport::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }
}

impl AsyncRead for GatheredWrites {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream().stream {
            Transport::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for GatheredWrites {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().write(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: [`Self::poll`] sends.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream().stream {
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
