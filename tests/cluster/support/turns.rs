//! Two servers behind one address, of which one is reached at a time.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Forwards connections to the server whose turn it is.
pub(crate) struct Turns {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct State {
    servers: [SocketAddr; 2],
    /// Both ends of each connection, until the next turn.
    open: Vec<TcpStream>,
}

impl Turns {
    /// Begins with the first server.
    pub(crate) fn start(servers: [SocketAddr; 2]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(Mutex::new(State {
            servers,
            open: Vec::new(),
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = lock(&shared);
                // The client sees a connection that ends when the server accepts none.
                let Ok(server) = TcpStream::connect(state.servers[0]) else {
                    continue;
                };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let from = from.try_clone().expect("a handle");
                    let to = to.try_clone().expect("a handle");
                    thread::spawn(move || forward(from, to));
                }
                state.open.extend([client, server]);
            }
        });
        Self { address, state }
    }

    /// From now on connections are made to the other server. Open ones stay.
    pub(crate) fn next(&self) {
        lock(&self.state).servers.reverse();
    }

    /// Cuts what is open. From then on the other server is reached.
    pub(crate) fn turn(&self) {
        let mut state = lock(&self.state);
        state.servers.reverse();
        for end in state.open.drain(..) {
            // It fails when the other end is gone already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
