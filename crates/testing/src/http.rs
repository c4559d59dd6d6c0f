//! A client for HTTP/1.1 that sends just the bytes it is told to, and tells everything that comes back.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::TOO_LONG;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// 0 when there is no answer.
    pub status: u16,
    /// Names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// Without its transfer coding.
    pub body: Vec<u8>,
}

impl Answer {
    /// The values of a header, one after another.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<_> =
            self.headers.iter().filter(|(other, _)| other == name).map(|(_, value)| &**value).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// The answer to a request without a body.
pub fn ask(address: SocketAddr, method: &str, target: &str, headers: &[(&str, &str)]) -> Answer {
    let headers: String = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    let request = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    exchange(address, request.as_bytes(), method == "HEAD")
}

/// The answer to these bytes, on a connection of its own.
pub fn exchange(address: SocketAddr, request: &[u8], is_head: bool) -> Answer {
    let mut stream = TcpStream::connect_timeout(&address, TOO_LONG).expect("it listens");
    stream.set_read_timeout(Some(TOO_LONG)).expect("a time-out can be set");
    // It may stop to read before everything is sent; then what it answered still stands.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    read(&mut stream, &mut bytes, is_head);
    let _ = stream.shutdown(Shutdown::Both);
    parse(&bytes, is_head).unwrap_or_default()
}

fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>, is_head: bool) {
    let mut buffer = vec![0; 64 * 1024];
    while parse(bytes, is_head).is_none() {
        match stream.read(&mut buffer) {
            // A child of another test ended.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

/// An answer, once it is complete.
fn parse(bytes: &[u8], is_head: bool) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers: Vec<_> = headers.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    let mut answer = Answer { status, headers, body: Vec::new() };
    let rest = &bytes[end + 4..];
    if status == 100 {
        return parse(rest, is_head);
    }
    if !is_head && !matches!(status, 204 | 304) {
        let length = answer.header("content-length").and_then(|length| length.parse::<usize>().ok());
        answer.body = match length {
            Some(length) => rest.get(..length)?.to_vec(),
            None if answer.header("transfer-encoding").is_some() => dechunked(rest)?,
            None => rest.to_vec(),
        };
    }
    Some(answer)
}

fn dechunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        let chunk = rest.get(line + 2..line + 2 + length)?;
        rest = rest.get(line + 4 + length..)?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(chunk);
    }
}
