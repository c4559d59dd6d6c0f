//! Coalesced writes of an HTTP/2 connection. h2 flushes after each frame, which is a system call
//! and a segment for every 16 KiB of a response; here, all writes of one poll of the connection are
//! sent at its end, or once many bytes are buffered (13 system calls for half a megabyte instead of
//! 31). They are buffered encrypted, in the buffers of rustls: nothing is copied. Without TLS there
//! is no such buffer, and writes are sent at once.

use std::io::{self, IoSlice, Write as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Number of buffered bytes at which further writes wait until these are sent.
pub const COALESCED_BYTES: usize = 64 * 1024;

/// A connection that sends its writes at the end of a poll, if it is one of TLS. Clones share it.
#[derive(Clone)]
pub(crate) struct CoalescingStream(Arc<Mutex<CoalescedWrites>>);

enum ServerStream {
    Tls(Box<TlsStream<TcpStream>>),
    Plain(TcpStream),
}

struct CoalescedWrites {
    stream: ServerStream,
    /// Number of bytes that were written and not sent, before encryption.
    buffered: usize,
}

impl CoalescingStream {
    /// Wraps a connection after its TLS handshake.
    pub(crate) fn tls(mut stream: TlsStream<TcpStream>) -> Self {
        // rustls' own limit would split a record where it is reached; `COALESCED_BYTES` bounds the
        // buffer instead.
        stream.get_mut().1.set_buffer_limit(None);
        Self(Arc::new(Mutex::new(CoalescedWrites {
            stream: ServerStream::Tls(Box::new(stream)),
            buffered: 0,
        })))
    }

    /// Wraps a connection without TLS, whose writes are sent at once.
    pub(crate) fn plain(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(CoalescedWrites {
            stream: ServerStream::Plain(stream),
            buffered: 0,
        })))
    }

    /// Polls a future that writes to the connection, and sends its writes.
    pub(crate) fn poll<F: Future>(
        &self,
        writer: Pin<&mut F>,
        context: &mut Context<'_>,
    ) -> Poll<F::Output> {
        let polled = writer.poll(context);
        // An error is not lost: the next read or write of the connection fails, too.
        let _ = self.stream().send(context);
        polled
    }

    fn stream(&self) -> MutexGuard<'_, CoalescedWrites> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CoalescedWrites {
    /// Sends the buffered bytes.
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let ServerStream::Tls(stream) = &mut self.stream
            && stream.get_ref().1.wants_write()
        {
            ready!(Pin::new(stream).poll_flush(context))?;
        }
        self.buffered = 0;
        Poll::Ready(Ok(()))
    }

    /// Encrypts and buffers bytes, or sends them at once without TLS.
    fn write(
        &mut self,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.buffered >= COALESCED_BYTES {
            ready!(self.send(context))?;
        }
        match &mut self.stream {
            ServerStream::Tls(stream) => {
                let mut writer = stream.get_mut().1.writer();
                let written = match writer.write_vectored(slices)? {
                    // rustls renews keys that have encrypted as much as they may, and takes no
                    // bytes in that call.
                    0 => writer.write_vectored(slices)?,
                    written => written,
                };
                self.buffered += written;
                Poll::Ready(Ok(written))
            }
            ServerStream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }
}

impl AsyncRead for CoalescingStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream().stream {
            ServerStream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
            ServerStream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for CoalescingStream {
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

    /// Does nothing: h2 calls it after each frame, and [`Self::poll`] sends.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream().stream {
            ServerStream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
            ServerStream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
