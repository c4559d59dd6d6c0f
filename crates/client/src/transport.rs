//! One request to a server, however it is reached, and its response as it comes.

use std::io::Read as _;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Size of a response, decompressed.
pub const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Error of a transport.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Connection to a server.
#[derive(Clone, Debug)]
pub(crate) enum ClientTransport {
    /// Straight to its URL.
    Http {
        client: reqwest::Client,
        url: reqwest::Url,
    },
    /// Through the API server of its cluster.
    #[cfg(feature = "kube")]
    Proxy(crate::cluster::ServiceProxy),
}

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingRequest {
    /// Query string of the URL, which holds the whole request unless there is a body.
    pub(crate) query: String,
    /// Body of a POST; without one it is a GET.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

/// A response whose body has not been read.
pub(crate) struct OpenResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Body,
}

/// A response that has been read.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

enum Body {
    Http(reqwest::Response),
    #[cfg(feature = "kube")]
    Proxy(std::pin::Pin<Box<kube::client::Body>>),
}

impl ClientTransport {
    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(&self, request: OutgoingRequest) -> Result<OpenResponse, BoxError> {
        match self {
            Self::Http { client, url } => {
                let mut url = url.clone();
                url.set_query(
                    Some(&request.query)
                        .filter(|query| !query.is_empty())
                        .map(String::as_str),
                );
                let builder = match request.body {
                    Some(body) => client
                        .post(url)
                        .header(CONTENT_TYPE, "application/json")
                        .body(body),
                    None => client.get(url),
                };
                let sent = builder
                    .headers(request.headers.into_iter().collect())
                    .send()
                    .await;
                // The URL holds the document, which would bury the reason.
                Ok(OpenResponse::from_http(
                    sent.map_err(reqwest::Error::without_url)?,
                ))
            }
            #[cfg(feature = "kube")]
            Self::Proxy(proxy) => Ok(OpenResponse::from_kube(proxy.send(request).await?)),
        }
    }

    /// Sends a request and reads its response, which may be compressed.
    pub(crate) async fn exchange(
        &self,
        mut request: OutgoingRequest,
    ) -> Result<ReceivedResponse, BoxError> {
        // flate2 is in the tree already; decompression by reqwest would add three libraries.
        request
            .headers
            .push((ACCEPT_ENCODING, HeaderValue::from_static("gzip")));
        self.send(request).await?.read().await
    }
}

impl OpenResponse {
    /// Makes a response that came straight from its URL.
    pub(crate) fn from_http(response: reqwest::Response) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        Self {
            status,
            headers,
            body: Body::Http(response),
        }
    }

    /// Makes a response of an API server.
    #[cfg(feature = "kube")]
    pub(crate) fn from_kube(response: http::Response<kube::client::Body>) -> Self {
        let (head, body) = response.into_parts();
        Self {
            status: head.status.as_u16(),
            headers: head.headers,
            body: Body::Proxy(Box::pin(body)),
        }
    }

    /// Reads the body, which may be compressed, to its end.
    pub(crate) async fn read(mut self) -> Result<ReceivedResponse, BoxError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_RESPONSE_BYTES {
                return Err(too_long());
            }
        }
        if self
            .headers
            .get(CONTENT_ENCODING)
            .is_some_and(|coding| coding == "gzip")
        {
            body = decompressed(&body)?;
        }
        Ok(ReceivedResponse {
            status: self.status,
            headers: self.headers,
            body,
        })
    }

    /// Waits for the next part of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, BoxError> {
        match &mut self.body {
            Body::Http(response) => Ok(response
                .chunk()
                .await
                .map_err(reqwest::Error::without_url)?),
            #[cfg(feature = "kube")]
            Body::Proxy(body) => loop {
                use http_body::Body as _;
                let Some(frame) =
                    std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await
                else {
                    return Ok(None);
                };
                // Trailers say nothing that is needed.
                if let Ok(data) = frame?.into_data() {
                    return Ok(Some(data));
                }
            },
        }
    }
}

fn decompressed(bytes: &[u8]) -> Result<Vec<u8>, BoxError> {
    let mut body = Vec::new();
    GzDecoder::new(bytes)
        .take(MAX_RESPONSE_BYTES as u64 + 1)
        .read_to_end(&mut body)?;
    if body.len() > MAX_RESPONSE_BYTES {
        Err(too_long())
    } else {
        Ok(body)
    }
}

fn too_long() -> BoxError {
    format!("the response has more than {MAX_RESPONSE_BYTES} bytes").into()
}
