//! A proxy in front of a registry that fails as registries do, and records every request.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{HttpResponse, exchange};

/// First byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// A server on a port of its own that handles each request as a script says; it ends when it is
/// dropped.
pub struct Proxy {
    /// Address where the proxy listens.
    pub address: SocketAddr,
    requests: Arc<Mutex<Vec<RecordedRequest>>>,
    stopped: Arc<AtomicBool>,
}

/// A request that the proxy received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// Method, such as `GET`.
    pub method: String,
    /// Target as the client wrote it: a path, or a whole URL when the client takes this for its
    /// proxy.
    pub target: String,
    /// Value of `Authorization`.
    pub authorization: Option<String>,
    /// Value of `Range`.
    pub range: Option<String>,
    /// Number of earlier requests for the same target.
    pub earlier: usize,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Address of the registry behind the proxy.
    pub upstream: SocketAddr,
}

/// Action of the proxy for a request.
pub enum ProxyAction {
    /// Forwards the request and returns the response of the registry.
    Forward,
    /// Returns this response.
    Respond(HttpResponse),
    /// Returns this response without `Content-Length`.
    RespondUnsized(HttpResponse),
    /// Forwards the request, and closes the connection after this many bytes of the body.
    Truncate(usize),
    /// Forwards the request, and sends nothing more after this many bytes of the body.
    Stall(usize),
    /// Sends nothing until the client goes away.
    Hang,
    /// Forwards the request, and sends zeros behind the body until the client goes away.
    Endless,
    /// Forwards the request, and sends the body byte by byte, 20 ms apart.
    Trickle,
}

trait Stream: Read + Write {
    fn socket(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Stream for StreamOwned<ServerConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

impl Proxy {
    /// Starts a proxy in front of a registry; the script is called once for each request.
    pub fn start(
        upstream: SocketAddr,
        script: impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static,
    ) -> Self {
        Self::listen(upstream, script, None)
    }

    /// Starts a proxy that speaks TLS to its clients, and plain HTTP to the registry.
    pub fn start_tls(
        upstream: SocketAddr,
        tls: ServerConfig,
        script: impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static,
    ) -> Self {
        Self::listen(upstream, script, Some(Arc::new(tls)))
    }

    fn listen(
        upstream: SocketAddr,
        script: impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let log = requests.clone();
        let stop = stopped.clone();
        let script = Arc::new(script);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let log = log.clone();
                let script = script.clone();
                let tls = tls.clone();
                // An error means that the client went away, which some scripts provoke.
                thread::spawn(move || match tls {
                    None => serve(stream, upstream, &log, &*script),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).map_err(io::Error::other)?;
                        serve(
                            StreamOwned::new(connection, stream),
                            upstream,
                            &log,
                            &*script,
                        )
                    }
                });
            }
        });
        Self {
            address,
            requests,
            stopped,
        }
    }

    /// Returns the requests received so far, in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.requests.lock().expect("nobody panicked").clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // The listener looks at the flag when the next connection comes.
        let _ = TcpStream::connect(self.address);
    }
}

impl RecordedRequest {
    /// Sends the request to the registry, without its credentials, and returns the response.
    pub fn forward(&self) -> HttpResponse {
        let passed = self
            .headers
            .iter()
            .filter(|(name, _)| !["connection", "authorization"].contains(&&**name));
        let headers: String = passed
            .flat_map(|(name, value)| [name, ": ", value, "\r\n"])
            .collect();
        // Clients send the whole URL to what they take for their proxy.
        let path = self
            .target
            .strip_prefix("http://")
            .and_then(|rest| Some(&rest[rest.find('/')?..]));
        let method = &self.method;
        let target = path.unwrap_or(&self.target);
        let head = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
        exchange(
            self.upstream,
            &[head.as_bytes(), &self.body].concat(),
            self.method == "HEAD",
        )
    }

    /// Returns the value of `Host`: the name of the host, with its port; empty when the request has
    /// none.
    pub fn host(&self) -> &str {
        self.header("host").unwrap_or_default()
    }

    /// Returns the value of a header field by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| &**value)
    }

    /// Returns the body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns whether the request is for a blob.
    pub fn is_blob(&self) -> bool {
        self.target.contains("/blobs/")
    }
}

/// Returns the action that responds with this status, these header fields and this body.
pub fn respond(status: u16, headers: &[(&str, &str)], body: &str) -> ProxyAction {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    ProxyAction::Respond(HttpResponse {
        status,
        headers,
        body: body.as_bytes().to_vec(),
    })
}

fn serve(
    mut stream: impl Stream,
    upstream: SocketAddr,
    log: &Mutex<Vec<RecordedRequest>>,
    script: &(impl Fn(&RecordedRequest) -> ProxyAction + ?Sized),
) -> io::Result<()> {
    let head = read_head(&mut stream)?;
    let mut lines = head.lines();
    let mut first = lines
        .next()
        .unwrap_or_default()
        .split(' ')
        .map(str::to_owned);
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |name: &str| {
        headers
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.clone())
    };
    let method = first.next().unwrap_or_default();
    let target = first.next().unwrap_or_default();
    let authorization = header("authorization");
    let range = header("range");
    let mut body = vec![
        0;
        header("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or_default()
    ];
    stream.read_exact(&mut body)?;
    let mut request = RecordedRequest {
        method,
        target,
        authorization,
        range,
        earlier: 0,
        headers,
        body,
        upstream,
    };
    {
        let mut log = log.lock().expect("nobody panicked");
        request.earlier = log
            .iter()
            .filter(|other| other.target == request.target)
            .count();
        log.push(request.clone());
    }
    match script(&request) {
        ProxyAction::Forward => send(&mut stream, &request.forward(), true, usize::MAX)?,
        ProxyAction::Respond(response) => send(&mut stream, &response, true, usize::MAX)?,
        ProxyAction::RespondUnsized(response) => send(&mut stream, &response, false, usize::MAX)?,
        ProxyAction::Truncate(bytes) => send(&mut stream, &request.forward(), true, bytes)?,
        ProxyAction::Stall(bytes) => {
            send(&mut stream, &request.forward(), true, bytes)?;
            stream.read_exact(&mut [0; 1])?;
        }
        // Ends when the client gives up.
        ProxyAction::Hang => stream.read_exact(&mut [0; 1])?,
        ProxyAction::Endless => {
            send(&mut stream, &request.forward(), false, usize::MAX)?;
            loop {
                stream.write_all(&[0; 4096])?;
            }
        }
        ProxyAction::Trickle => {
            let response = request.forward();
            send(&mut stream, &response, true, 0)?;
            let pause = std::time::Duration::from_millis(20);
            stream.socket().set_read_timeout(Some(pause))?;
            for byte in response.body {
                stream.write_all(&[byte])?;
                stream.flush()?;
                // The client sends nothing, so that this waits for the time-out.
                let _ = stream.socket().peek(&mut [0; 1]);
            }
        }
    }
    stream.flush()
}

fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head[0] == TLS_HANDSHAKE {
            return Err(io::Error::other("a client that speaks TLS"));
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Sends a response, with at most `bytes` bytes of its body.
fn send(
    stream: &mut impl Write,
    response: &HttpResponse,
    is_sized: bool,
    bytes: usize,
) -> io::Result<()> {
    let HttpResponse {
        status,
        headers,
        body,
    } = response;
    let mut head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\n");
    for (name, value) in headers {
        if !["connection", "content-length", "transfer-encoding"].contains(&&**name) {
            let _ = write!(head, "{name}: {value}\r\n");
        }
    }
    if is_sized {
        let _ = write!(head, "content-length: {}\r\n", body.len());
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    stream.write_all(&body[..body.len().min(bytes)])?;
    stream.flush()
}
