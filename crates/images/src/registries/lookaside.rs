//! Requests to the servers of signatures that registries.d names (lookaside). Credentials are for
//! registries alone and are not sent.

use reqwest::{StatusCode, Url};

use super::backoff::RegistryRequestError;
use super::response::read;
use super::session::RegistrySession;
use super::transport::{Trust, continue_trace, unreachable};
use crate::ImageError;

impl RegistrySession {
    /// Downloads a signature of at most `limit` bytes; `None` if the server does not have it.
    pub(crate) async fn lookaside_signature(
        &self,
        url: &Url,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, ImageError> {
        let mut backoff = self.backoff();
        loop {
            match self.lookaside_once(url, limit).await {
                Ok(found) => return Ok(found),
                Err(error) => backoff.wait_after(error).await?,
            }
        }
    }

    async fn lookaside_once(
        &self,
        url: &Url,
        limit: u64,
    ) -> Result<Option<Vec<u8>>, RegistryRequestError> {
        let host = url.host_str().unwrap_or_default();
        let named = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let trust = if self.transport.is_insecure(&named) {
            Trust::InsecureSkipVerify
        } else {
            Trust::Verified
        };
        let client = self.transport.client(trust)?;
        let request = client.get(url.clone()).timeout(self.request_timeout(limit));
        let response = continue_trace(request)
            .send()
            .await
            .map_err(|error| unreachable(&named, error))?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let resource = format!("the signature `{url}`");
        if !response.status().is_success() {
            return Err(self.error_for_status(&resource, response).await);
        }
        match read(response, limit).await {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => Err(ImageError::LargerThan { resource, limit }.into()),
            Err(error) => Err(unreachable(&named, error)),
        }
    }
}
