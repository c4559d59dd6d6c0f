//! Errors of requests, as texts for the log of Renovate.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use axum::response::{IntoResponse, Response};
use fbc_grammar::version::VersionReleaseError;

/// Seconds after which a client should ask again for a catalog that is being loaded.
const RETRY_AFTER_SECONDS: u32 = 5;

#[derive(Debug, thiserror::Error)]
pub(crate) enum DatasourceError {
    #[error("unknown parameter `{0}`: there are `channel` and `from`")]
    Parameter(String),
    #[error("the parameter `{0}` is given twice")]
    Repeated(&'static str),
    #[error("`from` is no version: {0}")]
    Version(#[from] VersionReleaseError),
    #[error("no catalog `{catalog}` is served")]
    Catalog { catalog: String },
    #[error("the catalog `{catalog}` is not loaded yet")]
    NotLoaded { catalog: String },
    #[error("the catalog `{catalog}` has no package `{package}`")]
    Package { catalog: String, package: String },
    #[error("the package `{package}` has no channel `{channel}`")]
    Channel { package: String, channel: String },
    #[error("the update graph of the package `{package}` is too large")]
    TooLarge { package: String },
    #[error("the response cannot be made")]
    Failed,
}

impl DatasourceError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Parameter(_) | Self::Repeated(_) | Self::Version(_) => StatusCode::BAD_REQUEST,
            Self::Catalog { .. } | Self::Package { .. } | Self::Channel { .. } => {
                StatusCode::NOT_FOUND
            }
            Self::NotLoaded { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge { .. } | Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for DatasourceError {
    fn into_response(self) -> Response {
        let head = [
            (CONTENT_TYPE, "text/plain; charset=utf-8"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (CACHE_CONTROL, "no-store"),
        ];
        let mut response = (self.status(), head, format!("{self}\n")).into_response();
        if matches!(self, Self::NotLoaded { .. }) {
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, RETRY_AFTER_SECONDS.into());
        }
        response
    }
}
