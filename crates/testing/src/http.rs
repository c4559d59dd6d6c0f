//! A client for HTTP/1.1 that sends exactly the bytes that it is given, and returns everything that
//! comes back.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::TEST_TIMEOUT;

/// A response of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code; 0 when the connection ended before a whole response.
    pub status: u16,
    /// Header fields in the order received, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body without its transfer coding, and still in its content coding.
    pub body: Vec<u8>,
}

impl HttpResponse {
    /// Returns the values of a header field joined by `, `; `None` when there is none. The name is
    /// in lower case.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<_> = self
            .headers
            .iter()
            .filter(|(other, _)| other == name)
            .map(|(_, value)| &**value)
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

/// Sends a request without a body on a connection of its own.
pub fn send_request(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
) -> HttpResponse {
    let headers: String = headers
        .iter()
        .flat_map(|(name, value)| [name, ": ", value, "\r\n"])
        .collect();
    let request = format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
    );
    exchange(address, request.as_bytes(), method == "HEAD")
}

/// Sends bytes on a connection of its own and returns the response to them. `is_head` says that it
/// has no body.
pub fn exchange(address: SocketAddr, request: &[u8], is_head: bool) -> HttpResponse {
    let mut stream = TcpStream::connect_timeout(&address, TEST_TIMEOUT).expect("it listens");
    stream
        .set_read_timeout(Some(TEST_TIMEOUT))
        .expect("a time-out can be set");
    // The server may stop reading early; its response counts all the same.
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
            // The signal that a child of another test ended.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

/// The response, once it is complete.
fn parse(bytes: &[u8], is_head: bool) -> Option<HttpResponse> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers: Vec<_> = headers
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let mut response = HttpResponse {
        status,
        headers,
        body: Vec::new(),
    };
    let rest = &bytes[end + 4..];
    if status == 100 {
        return parse(rest, is_head);
    }
    if !is_head && !matches!(status, 204 | 304) {
        let length = response
            .header("content-length")
            .and_then(|length| length.parse::<usize>().ok());
        response.body = match length {
            Some(length) => rest.get(..length)?.to_vec(),
            None if response.header("transfer-encoding").is_some() => dechunked(rest)?,
            None => rest.to_vec(),
        };
    }
    Some(response)
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
