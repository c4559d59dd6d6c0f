//! A WebSocket of the protocol `graphql-transport-ws`, frame by frame.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::TEST_TIMEOUT;

/// The client's end of a WebSocket.
pub struct WebSocketClient(TcpStream);

/// A message of the server.
#[derive(Debug, PartialEq, Eq)]
pub enum WebSocketMessage {
    /// A whole text.
    Text(String),
    /// The end, with its code.
    Close(u16),
}

impl WebSocketClient {
    /// Opens a WebSocket, or returns the status and the rest of the head of another response.
    /// `headers` are further ones, each with its line end.
    pub fn open(address: SocketAddr, headers: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .set_read_timeout(Some(TEST_TIMEOUT))
            .expect("a time-out can be set");
        let key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
        let head = "GET /graphql HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket";
        write!(
            stream,
            "{head}\r\n{headers}{key}\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
        )
        .expect("it reads");
        let mut response = Vec::new();
        while !response.ends_with(b"\r\n\r\n") {
            let mut byte = [0; 1];
            stream.read_exact(&mut byte).expect("it answers");
            response.extend(byte);
        }
        let response = String::from_utf8(response).expect("headers are ASCII");
        let is_open = response.starts_with("HTTP/1.1 101 ")
            && response.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        if is_open {
            Ok(Self(stream))
        } else {
            Err(response)
        }
    }

    /// Sends a text of less than 64 KiB.
    pub fn send(&mut self, text: &str) {
        let length = u16::try_from(text.len()).expect("messages are short");
        // Final, text; masked, with a length of two bytes and the mask 0.
        let mut frame = vec![0x81, 0x80 | 0x7e];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.0.write_all(&frame).expect("it reads");
    }

    /// Sends the request of an operation.
    pub fn subscribe(&mut self, id: &str, query: &str) {
        let payload = serde_json::json!({ "query": query });
        self.send(
            &serde_json::json!({ "id": id, "type": "subscribe", "payload": payload }).to_string(),
        );
    }

    /// Reads a whole message; pings are passed over.
    pub fn receive(&mut self) -> WebSocketMessage {
        let mut message = Vec::new();
        loop {
            let [head, short] = self.bytes();
            let length = match short {
                126 => u64::from(u16::from_be_bytes(self.bytes())),
                127 => u64::from_be_bytes(self.bytes()),
                short => u64::from(short),
            };
            match head & 0x0f {
                0x8 => return WebSocketMessage::Close(u16::from_be_bytes(self.bytes())),
                0x9 | 0xa => drop(
                    (&self.0)
                        .take(length)
                        .read_to_end(&mut Vec::new())
                        .expect("the frame is whole"),
                ),
                _ => {
                    (&self.0)
                        .take(length)
                        .read_to_end(&mut message)
                        .expect("the frame is whole");
                    if head & 0x80 != 0 {
                        return WebSocketMessage::Text(
                            String::from_utf8(message).expect("it is UTF-8"),
                        );
                    }
                }
            }
        }
    }

    /// Reads a text.
    ///
    /// # Panics
    /// The connection ends.
    #[track_caller]
    pub fn text(&mut self) -> String {
        match self.receive() {
            WebSocketMessage::Text(text) => text,
            WebSocketMessage::Close(code) => panic!("closed with {code}"),
        }
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes).expect("it answers");
        bytes
    }
}
