//! The feed that a request asks for.

use crate::error::FeedError;

/// A feed: its catalogs, and which of their packages it follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FeedRequest {
    /// Name of the only catalog; `None` for all.
    pub(crate) catalog: Option<String>,
    /// Name of the only package; `None` for all.
    pub(crate) package: Option<String>,
    /// Words that packages must match; `None` for all packages.
    pub(crate) search: Option<String>,
}

impl FeedRequest {
    /// Reads the query of a request.
    pub(crate) fn parse(mut self, query: &str) -> Result<Self, FeedError> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if name != "search" || self.package.is_some() {
                return Err(FeedError::Parameter(name.into_owned()));
            }
            if self.search.replace(value.into_owned()).is_some() {
                return Err(FeedError::Repeated);
            }
        }
        self.search = self.search.filter(|words| !words.trim().is_empty());
        Ok(self)
    }
}
