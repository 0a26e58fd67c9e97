//! A connection with `authority` in its way: what the client sends is rewritten, what it receives is not.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tonic::transport::server::Connected;

use super::authority::Rewriter;

/// Bytes that are read at once.
const CHUNK: usize = 4096;

/// A connection whose client may call its server anything.
#[derive(Debug)]
pub(super) struct Adapted<S> {
    inner: S,
    rewriter: Rewriter,
    ended: bool,
}

impl<S> Adapted<S> {
    pub(super) fn new(inner: S) -> Self {
        Self {
            inner,
            rewriter: Rewriter::default(),
            ended: false,
        }
    }
}

impl<S> Connected for Adapted<S> {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl<S: AsyncRead + Unpin> AsyncRead for Adapted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            let malformed = |error| io::Error::new(io::ErrorKind::InvalidData, error);
            let done = this
                .rewriter
                .rewritten(buf.remaining())
                .map_err(malformed)?;
            if !done.is_empty() || this.ended || buf.remaining() == 0 {
                buf.put_slice(&done);
                return Poll::Ready(Ok(()));
            }
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
            match chunk.filled() {
                [] => this.ended = true,
                bytes => this.rewriter.push(bytes),
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Adapted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}
