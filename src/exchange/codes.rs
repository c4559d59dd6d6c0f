//! Metrics by the status of a response: the statuses that this program sends, so that there are
//! only so many series.

use axum::http::StatusCode;

/// The statuses that responses have, each with its text, most frequent first.
const CODES: [(u16, &str); 28] = [
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

/// What is counted for any other status.
const OTHER: &str = "other";

/// What is counted for a client that left before its response began: no status was sent. nginx
/// gives it this number.
const CLIENT_LEFT: &str = "499";

/// One metric for each status.
#[derive(Debug)]
pub struct ByCode<M> {
    metrics: Box<[M]>,
    other: M,
    client_left: M,
}

impl<M> ByCode<M> {
    /// Creates the metric of each status.
    pub fn new(metric: impl Fn() -> M) -> Self {
        Self {
            metrics: CODES.iter().map(|_| metric()).collect(),
            other: metric(),
            client_left: metric(),
        }
    }

    /// The metric of a status.
    pub fn of(&self, status: StatusCode) -> &M {
        let code = status.as_u16();
        CODES
            .iter()
            .position(|(other, _)| *other == code)
            .map_or(&self.other, |at| &self.metrics[at])
    }

    /// The metric of responses that never began.
    pub fn client_left(&self) -> &M {
        &self.client_left
    }

    /// Each status, as the label has it, with its metric.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &M)> {
        let others = [(CLIENT_LEFT, &self.client_left), (OTHER, &self.other)];
        CODES
            .iter()
            .map(|(_, text)| *text)
            .zip(&self.metrics)
            .chain(others)
    }
}

impl<M: Default> Default for ByCode<M> {
    fn default() -> Self {
        Self::new(M::default)
    }
}
