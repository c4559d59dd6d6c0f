//! Metrics by the status of a response. Only statuses that the program sends have a series of their
//! own, so that the number of series is fixed.

use axum::http::StatusCode;

/// Statuses of responses, each with its text, most frequent first: the search is linear.
const STATUSES: [(u16, &str); 28] = [
    (200, "200"),
    (304, "304"),
    (101, "101"),
    (206, "206"),
    (301, "301"),
    (307, "307"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (406, "406"),
    (408, "408"),
    (409, "409"),
    (410, "410"),
    (411, "411"),
    (412, "412"),
    (413, "413"),
    (414, "414"),
    (415, "415"),
    (416, "416"),
    (421, "421"),
    (422, "422"),
    (429, "429"),
    (500, "500"),
    (501, "501"),
    (503, "503"),
    (504, "504"),
];

/// Label of any other status.
const OTHER: &str = "other";

/// Label of requests whose client left before the response began, as nginx has it: no status was
/// sent.
const CLIENT_LEFT: &str = "499";

/// One metric for each status.
#[derive(Debug)]
pub(crate) struct ByStatus<M> {
    metrics: Box<[M]>,
    other: M,
    client_left: M,
}

impl<M> ByStatus<M> {
    /// Creates the metric of each status.
    pub(crate) fn new(metric: impl Fn() -> M) -> Self {
        Self {
            metrics: STATUSES.iter().map(|_| metric()).collect(),
            other: metric(),
            client_left: metric(),
        }
    }

    /// Returns the metric of a status.
    pub(crate) fn get(&self, status: StatusCode) -> &M {
        let code = status.as_u16();
        STATUSES
            .iter()
            .position(|(other, _)| *other == code)
            .map_or(&self.other, |at| &self.metrics[at])
    }

    /// Returns the metric of requests whose client left before the response began.
    pub(crate) fn client_left(&self) -> &M {
        &self.client_left
    }

    /// Returns each metric with the label of its status.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &M)> {
        let others = [(CLIENT_LEFT, &self.client_left), (OTHER, &self.other)];
        STATUSES
            .iter()
            .map(|(_, text)| *text)
            .zip(&self.metrics)
            .chain(others)
    }
}

impl<M: Default> Default for ByStatus<M> {
    fn default() -> Self {
        Self::new(M::default)
    }
}
