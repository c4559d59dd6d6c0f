//! Errors of requests, as texts for people.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_content::text_error::text_error_headers;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    #[error("unknown parameter `{0}`: there is `search`, for feeds of more than one package")]
    Parameter(String),
    #[error("the parameter `search` is given twice")]
    Repeated,
    #[error("no catalog `{catalog}` is served")]
    Catalog { catalog: String },
    #[error("the catalog `{catalog}` is not loaded yet")]
    NotLoaded { catalog: String },
    #[error("the catalog `{catalog}` has no package `{package}`, and had none")]
    Package { catalog: String, package: String },
    #[error("the changes take too long to read: follow one catalog or package")]
    TooLarge,
    #[error("the feed cannot be made")]
    Failed,
}

impl FeedError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Parameter(_) | Self::Repeated => StatusCode::BAD_REQUEST,
            Self::Catalog { .. } | Self::Package { .. } => StatusCode::NOT_FOUND,
            Self::NotLoaded { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLarge | Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for FeedError {
    fn into_response(self) -> Response {
        let is_loading = matches!(self, Self::NotLoaded { .. });
        let headers = text_error_headers(is_loading);
        (self.status(), headers, format!("{self}\n")).into_response()
    }
}
