//! Pushes an image into a repository: blobs, then manifests, then the index under the tag.
//!
//! The tag is written last, when everything that it refers to exists. A push that ends early changes
//! nothing that clients see.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use content_digest::digest;
use fbc_grammar::Digest;
use http_body::{Frame, SizeHint};
use oci_client::manifest::{OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE};
use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Body, Response, StatusCode, Url};

use super::backoff::{Backoff, RegistryRequestError};
use super::session::{CONTENT_DIGEST, MANIFESTS, REFERRERS, RegistrySession};
use super::transport::Trust;
use crate::manifest::MEDIA_TYPES;
use crate::pack::PackedImage;
use crate::{ImageError, io_error};

/// Length in bytes of the pieces that a file is sent in.
const PIECE_BYTES: usize = 64 * 1024;

/// Location of the bytes of a blob.
#[derive(Clone, Copy)]
pub(crate) enum BlobSource<'a> {
    File(&'a Path),
    Memory(&'a [u8]),
}

/// A blob to push.
pub(crate) struct BlobUpload<'a> {
    /// Name of the blob for errors.
    pub(crate) resource: String,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
    pub(crate) source: BlobSource<'a>,
}

/// Pushes an image under a tag.
pub(super) async fn push(
    session: &RegistrySession,
    tag: &str,
    image: &PackedImage,
) -> Result<(), ImageError> {
    let layer = &image.layer;
    let resource = format!("the layer {}", layer.digest);
    let source = BlobSource::File(&layer.path);
    push_blob(
        session,
        &BlobUpload {
            resource,
            digest: layer.digest,
            bytes: layer.bytes,
            source,
        },
    )
    .await?;
    for config in &image.configs {
        let digest = digest(config);
        let resource = format!("the config {digest}");
        let source = BlobSource::Memory(config);
        push_blob(
            session,
            &BlobUpload {
                resource,
                digest,
                bytes: config.len() as u64,
                source,
            },
        )
        .await?;
    }
    for manifest in &image.manifests {
        let name = digest(manifest).to_string();
        push_manifest(
            session,
            &format!("the manifest {name}"),
            &name,
            OCI_IMAGE_MEDIA_TYPE,
            manifest,
        )
        .await?;
    }
    push_manifest(
        session,
        &format!("the tag `{tag}`"),
        tag,
        OCI_IMAGE_INDEX_MEDIA_TYPE,
        &image.index,
    )
    .await
}

/// Pushes a blob unless the repository has it.
pub(crate) async fn push_blob(
    session: &RegistrySession,
    blob: &BlobUpload<'_>,
) -> Result<(), ImageError> {
    let mut backoff = session.backoff();
    loop {
        match push_blob_once(session, blob).await {
            Ok(()) => return Ok(()),
            Err(error) => backoff.wait_after(error).await?,
        }
    }
}

async fn push_blob_once(
    session: &RegistrySession,
    blob: &BlobUpload<'_>,
) -> Result<(), RegistryRequestError> {
    if find_blob_once(session, blob.digest).await? {
        return Ok(());
    }
    let start = |scheme: &str| {
        let request = session
            .push_client()?
            .post(session.url(scheme, "blobs/uploads/"));
        Ok(request
            .header(CONTENT_LENGTH, 0)
            .timeout(session.request_timeout(0)))
    };
    let started = success(session, &blob.resource, session.exchange(start).await?).await?;
    let url = upload_url(session, blob, &started)?;
    let is_own = session.is_own(&url);
    let upload = |_: &str| {
        let body = blob.source.body(blob.bytes)?;
        let request = session.push_client()?.put(url.clone()).body(body);
        let request = request.header(CONTENT_TYPE, "application/octet-stream");
        Ok(request.timeout(session.request_timeout(blob.bytes)))
    };
    let sent = if is_own {
        session.exchange(upload).await?
    } else {
        session.send_unauthenticated(upload).await?
    };
    let uploaded = success(session, &blob.resource, sent).await?;
    check_digest(session, &blob.resource, blob.digest, uploaded.headers())?;
    Ok(())
}

/// Returns whether the repository has a blob.
pub(crate) async fn find_blob(
    session: &RegistrySession,
    digest: Digest,
) -> Result<bool, ImageError> {
    let mut backoff = session.backoff();
    loop {
        match find_blob_once(session, digest).await {
            Ok(found) => return Ok(found),
            Err(error) => backoff.wait_after(error).await?,
        }
    }
}

async fn find_blob_once(
    session: &RegistrySession,
    digest: Digest,
) -> Result<bool, RegistryRequestError> {
    let resource = format!("the blob {digest}");
    let found = head(session, &format!("blobs/{digest}"), &resource).await?;
    // Some registries redirect to the storage that has the blob.
    Ok(found.status().is_success() || found.status().is_redirection())
}

/// Returns the digest of the manifest that a tag or a digest names; `None` if the repository does
/// not have it, or does not say.
pub(crate) async fn manifest_digest(
    session: &RegistrySession,
    name: &str,
) -> Result<Option<Digest>, ImageError> {
    let path = format!("{MANIFESTS}{name}");
    let resource = format!("the manifest `{name}`");
    let mut backoff = session.backoff();
    loop {
        match head(session, &path, &resource).await {
            Ok(found) if found.status().is_success() => {
                let digest = found.headers().get(CONTENT_DIGEST);
                return Ok(digest.and_then(|value| Digest::parse(value.to_str().ok()?)));
            }
            Ok(_) => return Ok(None),
            Err(error) => backoff.wait_after(error).await?,
        }
    }
}

/// Returns whether the registry lists the referrers of manifests. Others need an index of them
/// under a tag (OCI distribution specification, "Referrers Tag Schema").
pub(crate) async fn lists_referrers(
    session: &RegistrySession,
    digest: Digest,
) -> Result<bool, ImageError> {
    let path = format!("{REFERRERS}{digest}");
    let request = |scheme: &str| {
        let request = session.push_client()?.get(session.url(scheme, &path));
        Ok(request
            .header(ACCEPT, OCI_IMAGE_INDEX_MEDIA_TYPE)
            .timeout(session.request_timeout(0)))
    };
    let mut backoff = session.backoff();
    loop {
        match session.exchange(request).await {
            Ok(response) => return Ok(response.status().is_success()),
            Err(error) => backoff.wait_after(error).await?,
        }
    }
}

/// Makes a blob of another repository of the registry one of this repository, without copying it.
/// Returns whether the registry did.
pub(crate) async fn mount_blob(
    session: &RegistrySession,
    digest: Digest,
    from: &str,
) -> Result<bool, ImageError> {
    let session = session.mounting(from);
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("mount", &digest.to_string())
        .append_pair("from", from)
        .finish();
    let path = format!("blobs/uploads/?{query}");
    let request = |scheme: &str| {
        let request = session.push_client()?.post(session.url(scheme, &path));
        Ok(request
            .header(CONTENT_LENGTH, 0)
            .timeout(session.request_timeout(0)))
    };
    // A registry that does not mount starts an upload, or refuses; then the blob is copied.
    match session.exchange(request).await {
        Ok(response) => Ok(response.status() == StatusCode::CREATED),
        Err(RegistryRequestError::Transient(..)) => Ok(false),
        Err(RegistryRequestError::Permanent(error)) => Err(error),
    }
}

async fn head(
    session: &RegistrySession,
    path: &str,
    resource: &str,
) -> Result<Response, RegistryRequestError> {
    let request = |scheme: &str| {
        let mut request = session.push_client()?.head(session.url(scheme, path));
        if path.starts_with(MANIFESTS) {
            request = request.header(ACCEPT, MEDIA_TYPES.join(", "));
        }
        Ok(request.timeout(session.request_timeout(0)))
    };
    let response = session.exchange(request).await?;
    let status = response.status();
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(session.error_for_status(resource, response).await);
    }
    Ok(response)
}

pub(crate) async fn push_manifest(
    session: &RegistrySession,
    resource: &str,
    name: &str,
    media_type: &str,
    bytes: &[u8],
) -> Result<(), ImageError> {
    let path = format!("{MANIFESTS}{name}");
    let request = |scheme: &str| {
        let request = session
            .push_client()?
            .put(session.url(scheme, &path))
            .header(CONTENT_TYPE, media_type);
        Ok(request
            .body(bytes.to_vec())
            .timeout(session.request_timeout(bytes.len() as u64)))
    };
    let mut backoff: Backoff = session.backoff();
    loop {
        let sent = match session.exchange(request).await {
            Ok(response) => success(session, resource, response).await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(response) => {
                return check_digest(session, resource, digest(bytes), response.headers());
            }
            Err(error) => backoff.wait_after(error).await?,
        }
    }
}

/// Returns a response of 2xx, and the error for another one.
async fn success(
    session: &RegistrySession,
    resource: &str,
    response: Response,
) -> Result<Response, RegistryRequestError> {
    if response.status().is_success() {
        return Ok(response);
    }
    Err(session.error_for_status(resource, response).await)
}

/// Returns the URL to which the blob is uploaded. It must have TLS if the registry has.
fn upload_url(
    session: &RegistrySession,
    blob: &BlobUpload<'_>,
    started: &Response,
) -> Result<Url, ImageError> {
    let location = started
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok());
    let mut url = location
        .and_then(|location| started.url().join(location).ok())
        .filter(|url| {
            url.scheme() == "https" || session.location.trust == Trust::InsecureSkipVerify
        })
        .ok_or_else(|| ImageError::Push {
            resource: blob.resource.clone(),
            location: session.location.to_string(),
            reason: "the registry returned no valid upload URL".to_owned(),
        })?;
    url.query_pairs_mut()
        .append_pair("digest", &blob.digest.to_string());
    Ok(url)
}

/// Checks the digest in the headers of a response to an upload, if there is one.
fn check_digest(
    session: &RegistrySession,
    resource: &str,
    expected: Digest,
    headers: &HeaderMap,
) -> Result<(), ImageError> {
    let stored = headers
        .get(CONTENT_DIGEST)
        .and_then(|value| Digest::parse(value.to_str().ok()?));
    match stored {
        Some(actual) if actual != expected => Err(session.wrong_digest(resource, expected, actual)),
        _ => Ok(()),
    }
}

impl BlobSource<'_> {
    /// Returns the bytes as the body of one attempt.
    fn body(self, bytes: u64) -> Result<Body, ImageError> {
        match self {
            Self::Memory(bytes) => Ok(bytes.to_vec().into()),
            Self::File(path) => {
                let file = File::open(path).map_err(|source| io_error("open", path, source))?;
                Ok(Body::wrap(FileBody { file, rest: bytes }))
            }
        }
    }
}

/// The bytes of a file as the body of a request.
struct FileBody {
    file: File,
    rest: u64,
}

impl http_body::Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let length = usize::try_from(self.rest)
            .unwrap_or(usize::MAX)
            .min(PIECE_BYTES);
        if length == 0 {
            return Poll::Ready(None);
        }
        let mut piece = vec![0; length];
        // Blocking, but short: the page cache has what was just written.
        let read = self.file.read_exact(&mut piece);
        self.rest -= length as u64;
        Poll::Ready(Some(read.map(|()| Frame::data(piece.into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest)
    }
}
