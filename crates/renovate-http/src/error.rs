//! Errors of requests, as texts for the log of Renovate.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fbc_grammar::version::VersionReleaseError;
use http_content::text_error::text_error_headers;

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
        let is_loading = matches!(self, Self::NotLoaded { .. });
        let headers = text_error_headers(is_loading);
        (self.status(), headers, format!("{self}\n")).into_response()
    }
}
