//! Clients of object stores: S3, Google Cloud Storage, Azure Blob Storage, and directories. Their
//! settings and credentials come from the environment, as `object_store` reads them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService, ReqwestConnector,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use url::Url;

use crate::{REQUEST_TIMEOUT, SharedStoreError};

/// Time-out for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum length in bytes of a response that the library holds in memory: errors, and responses to
/// uploads.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Maximum length in bytes of the text of an error.
const MAX_REASON_BYTES: usize = 500;

/// A bucket or a directory.
#[derive(Debug)]
pub(crate) struct Location {
    pub(crate) objects: Arc<dyn ObjectStore>,
    pub(crate) url: String,
}

/// Connects as the library does, with bounded responses.
#[derive(Debug)]
struct BoundedConnector;

/// Bounds the responses of a client.
#[derive(Debug)]
struct BoundedClient(HttpClient);

impl Location {
    /// Parses a URL and reads the settings in the environment. It sends no request.
    pub(crate) fn open(text: &str) -> Result<Self, SharedStoreError> {
        let url = Url::parse(text).map_err(|_| SharedStoreError::InvalidUrl)?;
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() {
            return Err(SharedStoreError::CredentialsInUrl);
        }
        let has_host = url.host_str().is_some_and(|host| !host.is_empty());
        let prefix = Path::from_url_path(url.path()).map_err(|_| SharedStoreError::InvalidUrl)?;
        let objects: Result<Arc<dyn ObjectStore>, _> = match (url.scheme(), has_host) {
            ("file", false) if !prefix.as_ref().is_empty() => {
                Ok(Arc::new(LocalFileSystem::new().with_fsync(true)))
            }
            ("s3", true) => AmazonS3Builder::from_env()
                .with_url(text)
                .with_http_connector(BoundedConnector)
                .with_retry(retry())
                .build()
                .map(|store| Arc::new(store) as _),
            ("gs", true) => GoogleCloudStorageBuilder::from_env()
                .with_url(text)
                .with_http_connector(BoundedConnector)
                .with_retry(retry())
                .build()
                .map(|store| Arc::new(store) as _),
            ("az", true) => MicrosoftAzureBuilder::from_env()
                .with_url(text)
                .with_http_connector(BoundedConnector)
                .with_retry(retry())
                .build()
                .map(|store| Arc::new(store) as _),
            _ => return Err(SharedStoreError::InvalidUrl),
        };
        let url = url.to_string();
        let objects = objects.map_err(|error| SharedStoreError::Open {
            url: url.clone(),
            reason: reason(&error),
        })?;
        Ok(Self {
            objects: Arc::new(PrefixStore::new(objects, prefix)),
            url,
        })
    }
}

/// Returns the text of an error in one line, shortened: a store may answer anything.
pub(crate) fn reason(error: &object_store::Error) -> String {
    let text = error.to_string();
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|letter| !letter.is_control());
    if line.len() > MAX_REASON_BYTES {
        line.truncate(line.floor_char_boundary(MAX_REASON_BYTES));
        line.push('…');
    }
    line
}

/// Few and short retries: a load does not wait for long, and uploads are tried again as a whole.
fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(1),
            base: 2.0,
        },
        max_retries: 2,
        retry_timeout: REQUEST_TIMEOUT,
    }
}

impl HttpConnector for BoundedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // Every operation has a time-out of its own, which depends on its bytes.
        let options = options.clone().with_connect_timeout(CONNECT_TIMEOUT);
        let options = options.with_timeout_disabled();
        let client = ReqwestConnector::default().connect(&options)?;
        Ok(HttpClient::new(BoundedClient(client)))
    }
}

#[async_trait]
impl HttpService for BoundedClient {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_read = request.method() == "GET";
        let response = self.0.execute(request).await?;
        // Objects are streamed, and bounded by their reader.
        if is_read && response.status().is_success() {
            return Ok(response);
        }
        let bounded = |body| {
            let limited = Limited::new(body, MAX_RESPONSE_BYTES);
            HttpResponseBody::new(limited.map_err(|source| {
                HttpError::new(HttpErrorKind::Decode, ResponseError(source.to_string()))
            }))
        };
        Ok(response.map(bounded))
    }
}

/// A response that breaks off, or is too long.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the response: {0}")]
struct ResponseError(String);

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str) -> String {
        Location::open(url).unwrap_err().to_string()
    }

    #[test]
    fn urls_of_other_kinds_and_with_credentials_are_refused_and_not_quoted() {
        for url in [
            "",
            "bucket",
            "https://bucket/prefix",
            "memory:///a",
            "s3:///prefix",
            "file://host/dir",
            "file:///",
        ] {
            assert_eq!(
                error(url),
                SharedStoreError::InvalidUrl.to_string(),
                "{url}"
            );
        }
        for url in [
            "s3://key:secret@bucket/prefix",
            "s3://key@bucket",
            "az://container/prefix?sig=secret",
            "gs://bucket/prefix#secret",
        ] {
            assert_eq!(
                error(url),
                SharedStoreError::CredentialsInUrl.to_string(),
                "{url}"
            );
        }
    }

    #[test]
    fn a_directory_need_not_exist_yet() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}/shared", folder.path().display());
        assert_eq!(Location::open(&url).unwrap().url, url);
    }

    #[test]
    fn the_reason_of_an_error_is_one_short_line() {
        let error = object_store::Error::Generic {
            store: "S3",
            source: format!("<Error>\n  {}", "é".repeat(1_000)).into(),
        };
        let reason = reason(&error);
        assert!(
            reason.starts_with("Generic S3 error: <Error> éé"),
            "{reason}"
        );
        assert!(reason.len() <= MAX_REASON_BYTES + '…'.len_utf8());
    }
}
