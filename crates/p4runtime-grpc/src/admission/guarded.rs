//! Connections that [`Admission`](super::Admission) can close.

use super::{Client, lock};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tonic::transport::server::Connected;

/// Bytes that a connection may receive before others have their turn: some ten short requests.
const PORTION: usize = 1 << 10;

/// A socket that listens.
pub trait Accepts: Sync {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin;

    /// Waits for a connection. Returns it with the address that it counts for.
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, IpAddr)>> + Send;
}

impl Accepts for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, IpAddr)> {
        let (stream, peer) = self.accept().await?;
        // Answers are short: they do not wait for more to send.
        let _ = stream.set_nodelay(true);
        Ok((stream, peer.ip()))
    }
}

impl Accepts for UnixListener {
    type Stream = UnixStream;

    /// All are of this machine.
    async fn next(&self) -> io::Result<(UnixStream, IpAddr)> {
        Ok((self.accept().await?.0, Ipv4Addr::LOCALHOST.into()))
    }
}

/// A connection within the limits, which [`Admission`](super::Admission) can close.
pub struct Guarded<S = TcpStream> {
    pub(super) stream: S,
    pub(super) client: Arc<Client>,
    /// A whole portion was received, and it is the others' turn.
    pub(super) is_sated: bool,
}

impl Guarded {
    /// The address of the other end.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }
}

impl<S> Guarded<S> {
    /// Counts everything that is written as an answer to a call.
    pub fn answering(self) -> Answering<S> {
        Answering(self)
    }

    fn is_open(&self, context: &Context<'_>) -> io::Result<()> {
        let mut waker = lock(&self.client.waker);
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        match self.client.ended.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

impl<S> Drop for Guarded<S> {
    fn drop(&mut self) {
        lock(&self.client.of.0.clients).remove(&self.client.id);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.is_open(context)?;
        if std::mem::take(&mut self.is_sated) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let length = buffer.remaining().min(PORTION);
        let mut portion = ReadBuf::new(buffer.initialize_unfilled_to(length));
        let received = Pin::new(&mut self.stream).poll_read(context, &mut portion);
        let length = portion.filled().len();
        buffer.advance(length);
        self.is_sated = length == PORTION;
        received
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_open(context)?;
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.is_open(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Connected for Guarded {
    type ConnectInfo = Arc<Client>;

    fn connect_info(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }
}

/// A connection on which every write counts as an answer.
pub struct Answering<S = TcpStream>(Guarded<S>);

impl<S> Answering<S> {
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.0.client
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Answering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Answering<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.0).poll_write(context, buffer);
        if let Poll::Ready(Ok(_)) = written {
            self.0.client.answered();
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
