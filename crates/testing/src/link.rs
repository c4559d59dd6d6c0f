//! A network link to a server on loopback that can be cut: a forwarder of TCP connections.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// A port of its own that forwards each connection to a server, until it is [cut](Self::cut).
pub struct Link {
    /// Address where the link listens.
    pub address: SocketAddr,
    state: Arc<LinkState>,
}

#[derive(Default)]
struct LinkState {
    flow: Mutex<Flow>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Flow {
    #[default]
    Open,
    /// Bytes wait.
    Stalled,
    /// The link was dropped.
    Closed,
}

impl Link {
    /// Starts a link to the server at this address.
    pub fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(LinkState::default());
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.wait_until_open() == Flow::Closed {
                    return;
                }
                // The client sees a connection that ends when the server accepts none.
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let copies = (from.try_clone(), to.try_clone());
                    let (Ok(from), Ok(to)) = copies else { continue };
                    let state = shared.clone();
                    thread::spawn(move || state.forward(from, to));
                }
            }
        });
        Self { address, state }
    }

    /// Lets no byte through any more, in either direction, until [`Self::mend`]. No connection
    /// ends, as where a cable is pulled out.
    pub fn cut(&self) {
        self.state.set(Flow::Stalled);
    }

    /// Lets bytes through again, those first that waited.
    pub fn mend(&self) {
        self.state.set(Flow::Open);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.state.set(Flow::Closed);
        // The listener looks at the state when the next connection comes.
        let _ = TcpStream::connect(self.address);
    }
}

impl LinkState {
    fn set(&self, flow: Flow) {
        *self.flow.lock().unwrap_or_else(PoisonError::into_inner) = flow;
        self.changed.notify_all();
    }

    fn wait_until_open(&self) -> Flow {
        let flow = self.flow.lock().unwrap_or_else(PoisonError::into_inner);
        let flow = self.changed.wait_while(flow, |flow| *flow == Flow::Stalled);
        *flow.unwrap_or_else(PoisonError::into_inner)
    }

    /// Copies bytes until one of the two ends.
    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = match from.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
                Ok(length) => length,
            };
            if self.wait_until_open() == Flow::Closed || to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        // The other direction ends too.
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_wait_while_a_link_is_cut_and_arrive_when_it_is_mended() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = Link::start(server.local_addr().unwrap());
        let mut client = TcpStream::connect(link.address).unwrap();
        let (mut accepted, _) = server.accept().unwrap();
        let mut bytes = [0; 3];
        client.write_all(b"one").unwrap();
        accepted.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"one");

        link.cut();
        accepted.write_all(b"two").unwrap();
        client
            .set_read_timeout(Some(std::time::Duration::from_millis(100)))
            .unwrap();
        assert_eq!(
            client.read(&mut bytes).unwrap_err().kind(),
            ErrorKind::WouldBlock
        );
        link.mend();
        client.set_read_timeout(None).unwrap();
        client.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"two");
        drop(link);
        drop(accepted);
        assert_eq!(client.read(&mut bytes).unwrap(), 0);
    }
}
