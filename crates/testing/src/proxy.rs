//! A proxy in front of a registry that does what registries do on bad days, and notes what it was asked.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::{Answer, ask};

/// What a client sends first that speaks TLS.
const TLS_HANDSHAKE: u8 = 0x16;

/// A server on a port of its own; it ends with the test.
pub struct Proxy {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    ended: Arc<AtomicBool>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub method: String,
    pub target: String,
    pub authorization: Option<String>,
    pub range: Option<String>,
    /// How many requests for the same came before.
    pub before: usize,
    head: Vec<(String, String)>,
    /// The registry behind.
    pub upstream: SocketAddr,
}

/// What to do with a request.
pub enum Act {
    /// What the registry would do.
    Pass,
    /// Answer so.
    Answer(Answer),
    /// Answer so, without saying how long it is.
    Unsized(Answer),
    /// What the registry would do, up to so many bytes of the body; then the connection breaks.
    Cut(usize),
    /// The same; then nothing more comes.
    Silent(usize),
    /// What the registry would do, without an end.
    Endless,
    /// What the registry would do, byte by byte with long pauses.
    Drip,
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
    /// A proxy in front of this registry that follows a script.
    pub fn start(upstream: SocketAddr, script: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        Self::listen(upstream, script, None)
    }

    /// The same, with TLS.
    pub fn start_tls(
        upstream: SocketAddr,
        tls: ServerConfig,
        script: impl Fn(&Asked) -> Act + Send + Sync + 'static,
    ) -> Self {
        Self::listen(upstream, script, Some(Arc::new(tls)))
    }

    fn listen(
        upstream: SocketAddr,
        script: impl Fn(&Asked) -> Act + Send + Sync + 'static,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (asked, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, end, script) = (asked.clone(), ended.clone(), Arc::new(script));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let (log, script, tls) = (log.clone(), script.clone(), tls.clone());
                // Who goes away meanwhile is what some scripts are about.
                thread::spawn(move || match tls {
                    None => serve(stream, upstream, &log, &*script),
                    Some(tls) => {
                        let connection = ServerConnection::new(tls).map_err(io::Error::other)?;
                        serve(StreamOwned::new(connection, stream), upstream, &log, &*script)
                    }
                });
            }
        });
        Self { address, asked, ended }
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // It waits for one more connection.
        let _ = TcpStream::connect(self.address);
    }
}

impl Asked {
    /// What the registry answers.
    pub fn answer(&self) -> Answer {
        let passed = self.head.iter().filter(|(name, _)| !["host", "connection", "authorization"].contains(&&**name));
        let headers: Vec<_> = passed.map(|(name, value)| (&**name, &**value)).collect();
        // A proxy for clients is told the whole address.
        let path = self.target.strip_prefix("http://").and_then(|rest| Some(&rest[rest.find('/')?..]));
        ask(self.upstream, &self.method, path.unwrap_or(&self.target), &headers)
    }

    /// The host that was asked, with its port.
    pub fn host(&self) -> &str {
        self.head.iter().find(|(name, _)| name == "host").map_or("", |(_, value)| value)
    }

    pub fn is_blob(&self) -> bool {
        self.target.contains("/blobs/")
    }
}

/// An answer with a body and no registry behind it.
pub fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Act {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Act::Answer(Answer { status, headers, body: body.as_bytes().to_vec() })
}

fn serve(
    mut stream: impl Stream,
    upstream: SocketAddr,
    log: &Mutex<Vec<Asked>>,
    script: &(impl Fn(&Asked) -> Act + ?Sized),
) -> io::Result<()> {
    let head = read_head(&mut stream)?;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let head: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let header = |name: &str| head.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let (authorization, range) = (header("authorization"), header("range"));
    let mut asked = Asked { method, target, authorization, range, before: 0, head, upstream };
    {
        let mut log = log.lock().expect("nobody panicked");
        asked.before = log.iter().filter(|one| one.target == asked.target).count();
        log.push(asked.clone());
    }
    match script(&asked) {
        Act::Pass => send(&mut stream, &asked.answer(), true, usize::MAX)?,
        Act::Answer(answer) => send(&mut stream, &answer, true, usize::MAX)?,
        Act::Unsized(answer) => send(&mut stream, &answer, false, usize::MAX)?,
        Act::Cut(bytes) => send(&mut stream, &asked.answer(), true, bytes)?,
        Act::Silent(bytes) => {
            send(&mut stream, &asked.answer(), true, bytes)?;
            // Until the other side gives up.
            stream.read_exact(&mut [0; 1])?;
        }
        Act::Endless => {
            send(&mut stream, &asked.answer(), false, usize::MAX)?;
            loop {
                stream.write_all(&[0; 4096])?;
            }
        }
        Act::Drip => {
            let answer = asked.answer();
            send(&mut stream, &answer, true, 0)?;
            let pause = std::time::Duration::from_millis(20);
            stream.socket().set_read_timeout(Some(pause))?;
            for byte in answer.body {
                stream.write_all(&[byte])?;
                stream.flush()?;
                // Nothing comes, so that this takes the pause.
                let _ = stream.socket().peek(&mut [0; 1]);
            }
        }
    }
    stream.flush()
}

fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head[0] == TLS_HANDSHAKE {
            return Err(io::Error::other("a client that speaks TLS"));
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Sends an answer, with so many bytes of its body at most.
fn send(stream: &mut impl Write, answer: &Answer, is_sized: bool, bytes: usize) -> io::Result<()> {
    let Answer { status, headers, body } = answer;
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
