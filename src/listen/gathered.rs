//! Writes of an HTTP/2 connection, gathered. h2 flushes after each frame, which is a system call and a segment for every
//! 16 KiB of a response; here, what is written while the connection is polled is sent at its end, or when much of it waits.
//! It waits encrypted, in the buffers of rustls: nothing is copied for it.

use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Number of bytes that wait before more are only taken once they are sent.
pub const GATHERED_BYTES: usize = 64 * 1024;

/// A TLS connection that sends what is written when it is told to. Clones share it.
#[derive(Clone)]
pub(super) struct GatheredWrites(Arc<Mutex<Gathered>>);

struct Gathered {
    stream: TlsStream<TcpStream>,
    /// Bytes that were written since the last ones were sent, before encryption.
    waiting: usize,
}

impl GatheredWrites {
    pub(super) fn new(mut stream: TlsStream<TcpStream>) -> Self {
        // Its own limit would split records where it is reached.
        stream.get_mut().1.set_buffer_limit(None);
        Self(Arc::new(Mutex::new(Gathered { stream, waiting: 0 })))
    }

    /// Polls what writes to the connection, and sends what it has written.
    pub(super) fn poll<F: Future>(&self, writer: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
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
        if self.stream.get_ref().1.wants_write() {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        }
        self.waiting = 0;
        Poll::Ready(Ok(()))
    }

    fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let written = self.stream.get_mut().1.writer().write_vectored(slices)?;
        self.waiting += written;
        Ok(written)
    }
}

impl AsyncRead for GatheredWrites {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for GatheredWrites {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut gathered = self.stream();
        if gathered.waiting >= GATHERED_BYTES {
            ready!(gathered.send(context))?;
        }
        let written = gathered.write(slices)?;
        // Keys that have encrypted as much as they may are renewed in place of the first write.
        Poll::Ready(if written == 0 { gathered.write(slices) } else { Ok(written) })
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: [`Self::poll`] sends.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream().stream).poll_shutdown(context)
    }
}
